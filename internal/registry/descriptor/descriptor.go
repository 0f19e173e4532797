// Package descriptor reads component descriptors and says what is wrong with them. Admission and resolution use
// the same functions, so that what the one admits the other can use.
package descriptor

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"ocm.software/ocm/api/ocm/compdesc"
)

// Descriptor is what is needed of a component descriptor, in whichever schema it was written. It is not
// changed once it was parsed, and may be shared.
type Descriptor struct {
	// Component and Version identify the component version.
	Component, Version string
	// Repository is where its blobs are: `<registry>[/<subpath>]`, without scheme; empty where the
	// descriptor does not say, or was fetched.
	Repository string
	// Resources are the parts of the component version.
	Resources []Resource

	schema schema
	// digestMapping is set where the repository keeps components by the digests of their names.
	digestMapping bool
}

// Resource is one part of a component version.
type Resource struct {
	Name, Type string
	Access     Access
	// Artifact is the digest, with algorithm, of the OCI artifact that the resource is, as the component says and its
	// signatures cover; empty where it says none with SHA-256. The access, where the artifact is, is not signed.
	Artifact string
}

// Access is the union of the fields of the access types that modules use.
type Access struct {
	Type           string `json:"type"`
	Digest         string `json:"digest,omitempty"`         // localOciBlob, ociBlob
	LocalReference string `json:"localReference,omitempty"` // localBlob
	Reference      string `json:"ref,omitempty"`            // ociBlob
	ImageReference string `json:"imageReference,omitempty"` // ociArtifact
	MediaType      string `json:"mediaType,omitempty"`
	Size           int64  `json:"size,omitempty"`
	// GlobalAccess is another way to the blob of a localBlob, from outside of its repository.
	GlobalAccess *Access `json:"globalAccess,omitempty"`
}

// Parse parses and validates a component descriptor (YAML or JSON) of schema v2 or v3alpha1 with the OCM
// library. The provider may be a name or an object with a name in both. The error wraps ErrInvalid; where it
// can be said where the mistake is, it is an *Error that names the paths in the descriptor.
func Parse(raw []byte) (*Descriptor, error) {
	decoded, schema, err := decode(raw)
	if err != nil {
		return nil, err
	}
	d := &Descriptor{
		Component: decoded.GetName(), Version: decoded.GetVersion(), schema: schema,
	}
	// The one that was added last is in effect; none of them may give away a credential.
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

// Decode is the descriptor as the OCM library has it, which is what signatures are verified on. Errors are
// those of Parse.
func Decode(raw []byte) (*compdesc.ComponentDescriptor, error) {
	decoded, _, err := decode(raw)
	return decoded, err
}

// decode lets the library parse and validate. Where it refuses, the paths are found out.
func decode(raw []byte) (decoded *compdesc.ComponentDescriptor, schema schema, err error) {
	defer func() {
		// The library's validation has been seen to panic on values of unexpected types; a descriptor is
		// input from outside and must not take the process down.
		if cause := recover(); cause != nil {
			decoded, err = nil, fmt.Errorf("%w: %v", ErrInvalid, cause)
		}
	}()
	if len(raw) > maxSize {
		return nil, "", fmt.Errorf("%w: it has %d bytes, and %d are allowed", ErrInvalid, len(raw), maxSize)
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

// identified checks what the library does not check in one of the schemas.
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

// credentials finds a reference that has credentials in it. It is not quoted.
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

// hasCredentials tells whether a repository context has credentials in its address.
func hasCredentials(context []byte) bool {
	var address struct {
		BaseURL any `json:"baseUrl"`
		SubPath any `json:"subPath"`
	}
	// What cannot be read has none; whether it has to be readable is for others to say.
	_ = json.Unmarshal(context, &address)
	base, _ := address.BaseURL.(string)
	sub, _ := address.SubPath.(string)
	return strings.Contains(base+sub, "@")
}

func forbidCredentials(at *field.Path) *field.Error {
	return field.Forbidden(at, "it has credentials; everybody who may read the module can read them: take them out and renew them. Those for the registry are the control plane's own")
}

// withoutScheme is an address without what may stand before its host.
func withoutScheme(address string) string {
	for _, scheme := range []string{"https://", "http://", "oci://"} {
		address = strings.TrimPrefix(address, scheme)
	}
	return address
}

// readRepository reads the repository context that was added last, which is the one that is in effect.
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
