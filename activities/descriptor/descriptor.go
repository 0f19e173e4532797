// Package descriptor reads component descriptors and says what is wrong with them. Admission and resolution use
// the same functions, so that what the one admits the other can use.
package descriptor

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"ocm.software/ocm/api/ocm/compdesc"
	// The schemas that a descriptor may have; each registers itself.
	_ "ocm.software/ocm/api/ocm/compdesc/versions/ocm.software/v3alpha1"
	_ "ocm.software/ocm/api/ocm/compdesc/versions/v2"
)

// Descriptor is what is needed of a component descriptor, in whichever schema it was written.
type Descriptor struct {
	// Component and Version identify the component version.
	Component, Version string
	// Repository is where its blobs are: `<registry>[/<subpath>]`, without scheme; empty where the
	// descriptor does not say, or was fetched.
	Repository string
	// RepositoryName is the component's path in the repository, which is its name unless the repository
	// maps names to digests.
	RepositoryName string
	// Resources are the parts of the component version.
	Resources []Resource
}

// Resource is one part of a component version.
type Resource struct {
	Name, Type string
	Access     Access
}

// Access is the union of the fields of the access types that modules use.
type Access struct {
	Type           string `json:"type"`
	Digest         string `json:"digest,omitempty"`         // localOciBlob, ociBlob
	LocalReference string `json:"localReference,omitempty"` // localBlob
	Reference      string `json:"ref,omitempty"`            // ociBlob
	MediaType      string `json:"mediaType,omitempty"`
	Size           int64  `json:"size,omitempty"`
}

// ErrInvalid is wrapped by every error about a descriptor that cannot be used as it is.
var ErrInvalid = errors.New("invalid component descriptor")

// Parse parses and validates a component descriptor (YAML or JSON) of schema v2 or v3alpha1 with
// the OCM library. The error wraps ErrInvalid.
func Parse(raw []byte) (parsed *Descriptor, err error) {
	defer func() {
		// The library's validation has been seen to panic on values of unexpected types; a descriptor is
		// input from outside and must not take the process down.
		if cause := recover(); cause != nil {
			parsed, err = nil, fmt.Errorf("%w: %v", ErrInvalid, cause)
		}
	}()
	decoded, err := compdesc.Decode(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	d := &Descriptor{Component: decoded.GetName(), Version: decoded.GetVersion(), RepositoryName: decoded.GetName()}
	if d.Component == "" || d.Version == "" {
		return nil, fmt.Errorf("%w: component.name and component.version must be given", ErrInvalid)
	}
	if last := len(decoded.RepositoryContexts) - 1; last >= 0 {
		content, err := decoded.RepositoryContexts[last].GetRaw()
		if err != nil {
			return nil, fmt.Errorf("%w: component.repositoryContexts[%d]: %w", ErrInvalid, last, err)
		}
		if err := d.readRepository(content); err != nil {
			return nil, fmt.Errorf("%w: component.repositoryContexts[%d]: %w", ErrInvalid, last, err)
		}
	}
	for i := range decoded.Resources {
		resource := &decoded.Resources[i]
		access, err := readAccess(resource.Access)
		if err != nil {
			return nil, fmt.Errorf("%w: component.resources[%d].access: %w", ErrInvalid, i, err)
		}
		d.Resources = append(d.Resources, Resource{Name: resource.Name, Type: resource.Type, Access: access})
	}
	return d, nil
}

// readRepository reads the repository context that was added last, which is the one that is in effect.
func (d *Descriptor) readRepository(raw []byte) error {
	var repository struct {
		BaseURL string `json:"baseUrl"`
		SubPath string `json:"subPath"`
		Mapping string `json:"componentNameMapping"`
	}
	if err := json.Unmarshal(raw, &repository); err != nil {
		return err
	}
	base := repository.BaseURL
	for _, scheme := range []string{"https://", "http://", "oci://"} {
		base = strings.TrimPrefix(base, scheme)
	}
	d.Repository = strings.Trim(base, "/")
	if sub := strings.Trim(repository.SubPath, "/"); sub != "" {
		d.Repository += "/" + sub
	}
	switch repository.Mapping {
	case "", "urlPath":
		return nil
	default:
		return fmt.Errorf("componentNameMapping %q is not supported, only urlPath is", repository.Mapping)
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
