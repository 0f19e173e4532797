// Package descriptor reads and validates OCM component descriptors.
//
// Parse returns a Descriptor for both schemas, v2 and v3alpha1. Validate compares it with the expectations of a
// ModuleTemplate or ModuleReleaseMeta. Contents returns the resources to install. Place and Access.Blob return the
// location of their blobs. ValidateTemplate validates a whole ModuleTemplate.
//
// Invariants:
//
//   - Admission and resolution use the same functions, so that resolution can use everything that admission accepts.
//   - A descriptor is untrusted input: its size is bounded, and a panic of the OCM library becomes an error.
//   - Errors name paths in the descriptor, quote only short values, and never quote credentials. They are sorted, because a
//     message that changes at each reconcile would be written at each reconcile.
package descriptor

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"ocm.software/ocm/api/ocm/compdesc"
)

// Descriptor holds the used parts of a component descriptor, whatever its schema. It does not change after Parse, so
// callers may share it.
type Descriptor struct {
	// Component and Version identify the component version.
	Component, Version string
	// Repository is the location of the component's blobs: `<registry>[/<subpath>]`, without scheme. It is empty if the
	// descriptor does not name a repository.
	Repository string
	// Resources are the parts of the component version.
	Resources []Resource

	schema schema
	// digestMapping says that the repository stores components under the digests of their names.
	digestMapping bool
}

// Resource is one part of a component version.
type Resource struct {
	Name, Type string
	Access     Access
	// Artifact is the signed digest, with its algorithm, of the resource's OCI artifact. It is empty if the component
	// has no SHA-256 digest of the artifact. The access, which locates the artifact, is not signed.
	Artifact string
}

// Access is the union of the fields of all supported access types.
type Access struct {
	Type           string `json:"type"`
	Digest         string `json:"digest,omitempty"`         // localOciBlob, ociBlob
	LocalReference string `json:"localReference,omitempty"` // localBlob
	Reference      string `json:"ref,omitempty"`            // ociBlob
	ImageReference string `json:"imageReference,omitempty"` // ociArtifact
	MediaType      string `json:"mediaType,omitempty"`
	Size           int64  `json:"size,omitempty"`
	// GlobalAccess is a second access to the blob of a localBlob, from outside of its repository.
	GlobalAccess *Access `json:"globalAccess,omitempty"`
}

// Parse parses and validates a component descriptor (YAML or JSON) of schema v2 or v3alpha1 with the OCM library. In
// both schemas the provider may be a name or an object with a name. The error wraps ErrInvalid. If the location of the
// mistake is known, the error is an *Error with the paths in the descriptor.
func Parse(raw []byte) (*Descriptor, error) {
	decoded, schema, err := decode(raw)
	if err != nil {
		return nil, err
	}
	d := &Descriptor{
		Component: decoded.GetName(), Version: decoded.GetVersion(), schema: schema,
	}
	// The last repository context is in effect. None of them may contain credentials.
	for i := range decoded.RepositoryContexts {
		at := schema.repositoryContexts().Index(i)
		content, err := decoded.RepositoryContexts[i].GetRaw()
		if err != nil {
			return nil, invalid(field.Invalid(at, field.OmitValueType{}, err.Error()))
		}
		if hasCredentials(content) {
			return nil, invalid(forbidCredentials(at.Child("baseUrl")))
		}
		if i < len(decoded.RepositoryContexts)-1 {
			continue
		}
		if problem := d.readRepository(at, content); problem != nil {
			return nil, invalid(problem)
		}
	}
	for i := range decoded.Resources {
		resource := &decoded.Resources[i]
		access, err := readAccess(resource.Access)
		if err != nil {
			return nil, invalid(field.Invalid(schema.resource(i).Child("access"), field.OmitValueType{}, err.Error()))
		}
		if problem := access.credentials(schema.resource(i).Child("access")); problem != nil {
			return nil, invalid(problem)
		}
		d.Resources = append(d.Resources, Resource{
			Name: resource.Name, Type: resource.Type, Access: access, Artifact: artifactDigest(resource.Digest),
		})
	}
	return d, nil
}

// Decode returns the OCM library's form of the descriptor, which signatures are verified on. It returns the same errors
// as Parse.
func Decode(raw []byte) (*compdesc.ComponentDescriptor, error) {
	decoded, _, err := decode(raw)
	return decoded, err
}

// decode lets the library parse and validate. If the library refuses the descriptor, decode finds the paths.
func decode(raw []byte) (decoded *compdesc.ComponentDescriptor, schema schema, err error) {
	defer func() {
		// The library's validation has panicked on values of unexpected types. A descriptor is foreign input and must
		// not crash the process.
		if cause := recover(); cause != nil {
			decoded, err = nil, fmt.Errorf("%w: %v", ErrInvalid, cause)
		}
	}()
	if len(raw) > maxSize {
		return nil, "", fmt.Errorf("%w: it has %d bytes, but only %d are allowed", ErrInvalid, len(raw), maxSize)
	}
	document, err := read(raw)
	if err != nil {
		return nil, "", err
	}
	if decoded, err = compdesc.Decode(document.json); err != nil {
		return nil, document.schema, document.explain(err)
	}
	if problems := identified(decoded, document.schema); len(problems) > 0 {
		return nil, document.schema, &Error{Problems: problems}
	}
	return decoded, document.schema, nil
}

// identified checks the fields that the library does not check in one of the schemas.
func identified(decoded *compdesc.ComponentDescriptor, schema schema) field.ErrorList {
	var problems field.ErrorList
	for name, value := range map[string]string{
		"name": decoded.GetName(), "version": decoded.GetVersion(), "provider": string(decoded.Provider.Name),
	} {
		if value == "" {
			problems = append(problems, field.Required(schema.metadata().Child(name), ""))
		}
	}
	return problems
}

// credentials returns a problem if a reference contains credentials. The problem does not quote it.
func (a Access) credentials(at *field.Path) *field.Error {
	for _, reference := range []struct{ field, value string }{{"ref", a.Reference}, {"imageReference", a.ImageReference}} {
		host, _, _ := strings.Cut(withoutScheme(reference.value), "/")
		if strings.Contains(host, "@") || strings.Count(reference.value, "@") > 1 {
			return forbidCredentials(at.Child(reference.field))
		}
	}
	if a.GlobalAccess != nil {
		return a.GlobalAccess.credentials(at.Child("globalAccess"))
	}
	return nil
}

// hasCredentials reports whether the address of a repository context contains credentials.
func hasCredentials(context []byte) bool {
	var address struct {
		BaseURL any `json:"baseUrl"`
		SubPath any `json:"subPath"`
	}
	// An unreadable context has none. Other checks decide whether it must be readable.
	_ = json.Unmarshal(context, &address)
	base, _ := address.BaseURL.(string)
	sub, _ := address.SubPath.(string)
	return strings.Contains(base+sub, "@")
}

func forbidCredentials(at *field.Path) *field.Error {
	return field.Forbidden(at, "it contains credentials, which everybody who may read the module can read: remove and renew them. The control plane has its own credentials for the registry")
}

// withoutScheme returns an address without its scheme.
func withoutScheme(address string) string {
	for _, scheme := range []string{"https://", "http://", "oci://"} {
		address = strings.TrimPrefix(address, scheme)
	}
	return address
}

// readRepository reads the last repository context, which is in effect.
func (d *Descriptor) readRepository(at *field.Path, raw []byte) *field.Error {
	var repository struct {
		BaseURL string `json:"baseUrl"`
		SubPath string `json:"subPath"`
		Mapping string `json:"componentNameMapping"`
	}
	if err := json.Unmarshal(raw, &repository); err != nil {
		return field.Invalid(at, field.OmitValueType{}, err.Error())
	}
	d.Repository = strings.Trim(withoutScheme(repository.BaseURL), "/")
	if sub := strings.Trim(repository.SubPath, "/"); sub != "" {
		d.Repository += "/" + sub
	}
	switch repository.Mapping {
	case "", mappingURLPath:
		return nil
	case mappingDigest:
		d.digestMapping = true
		return nil
	default:
		return field.NotSupported(at.Child("componentNameMapping"), short(repository.Mapping), []string{mappingURLPath, mappingDigest})
	}
}

func readAccess(spec compdesc.AccessSpec) (Access, error) {
	var access Access
	if spec == nil {
		return access, errors.New("is missing")
	}
	raw, err := json.Marshal(spec)
	if err != nil {
		return access, err
	}
	if err := json.Unmarshal(raw, &access); err != nil {
		return access, err
	}
	return access, nil
}
