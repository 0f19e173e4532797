package component

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	ocmerrors "github.com/mandelsoft/goutils/errors"
	"ocm.software/ocm/api/credentials"
	"ocm.software/ocm/api/ocm/compdesc"
	"ocm.software/ocm/api/ocm/cpi"
	"ocm.software/ocm/api/ocm/extensions/repositories/ocireg"
	"ocm.software/ocm/api/tech/oci/identity"
)

// ErrVersionExists means that the registry already has the version, but with
// different content.
var ErrVersionExists = errors.New("this version exists with different content")

// Registry is an OCI registry to push component versions to.
type Registry struct {
	// Address is HOST[:PORT][/SUBPATH], without a scheme. Push writes to
	// ADDRESS/component-descriptors/<component name>:<version>.
	Address string
	// PlainHTTP uses HTTP without TLS. The descriptor then has an address that
	// begins with http://.
	PlainHTTP bool
	// Username and Password are the credentials for the registry. They are used
	// if Username is set.
	Username, Password string
}

// Outcome is the result of a push.
type Outcome struct {
	// Descriptor is the descriptor that the registry has now.
	Descriptor Descriptor
	// Written is false if the registry already had the same content.
	Written bool
}

// Push writes the component version into the registry. It does not write content
// that the registry already has, so a push can be repeated, but it adds a missing
// signature. If the version exists with different content, Push returns
// ErrVersionExists unless overwrite is true.
func (r Registry) Push(version Version, overwrite bool) (_ Outcome, err error) {
	octx := newContext()
	spec := ocireg.NewRepositorySpec(r.url())
	composed, err := compose(octx, version, spec)
	if err != nil {
		return Outcome{}, err
	}
	defer func() { err = errors.Join(err, composed.Close()) }()

	repository, err := r.open(octx, spec)
	if err != nil {
		return Outcome{}, err
	}
	defer func() { err = errors.Join(err, repository.Close()) }()

	stored, err := storedDescriptor(repository, version)
	if err != nil && !ocmerrors.IsErrNotFound(err) {
		return Outcome{}, fmt.Errorf("read registry %s: %w", r.Address, err)
	}
	if exists := err == nil; exists {
		different, err := differences(stored.descriptor, composed.GetDescriptor())
		if err != nil {
			return Outcome{}, err
		}
		switch {
		case len(different) == 0 && (version.Signing == nil || version.Signing.signed(stored.descriptor)):
			return Outcome{Descriptor: stored}, nil
		case len(different) == 0:
			overwrite = true // the same content, with one signature more
			if err := resign(composed.GetDescriptor(), stored.descriptor, version.Signing); err != nil {
				return Outcome{}, err
			}
		case !overwrite:
			return Outcome{}, fmt.Errorf("component %s in registry %s: %w: %s; push a new version, or replace this one with --overwrite",
				version, r.Address, ErrVersionExists, strings.Join(different, "; "))
		}
	}
	if err := repository.AddComponentVersion(composed, overwrite); err != nil {
		return Outcome{}, fmt.Errorf("push component %s to registry %s: %w", version, r.Address, err)
	}
	stored, err = storedDescriptor(repository, version)
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{Descriptor: stored, Written: true}, nil
}

func (r Registry) url() string {
	if r.PlainHTTP {
		return "http://" + r.Address
	}
	return r.Address
}

func (r Registry) open(octx cpi.Context, spec *ocireg.RepositorySpec) (cpi.Repository, error) {
	var sources []credentials.CredentialsSource
	if r.Username != "" {
		sources = append(sources, identity.SimpleCredentials(r.Username, r.Password))
	}
	repository, err := octx.RepositoryForSpec(spec, sources...)
	if err != nil {
		return nil, fmt.Errorf("open registry %s: %w", r.Address, err)
	}
	return repository, nil
}

func storedDescriptor(repository cpi.Repository, version Version) (_ Descriptor, err error) {
	stored, err := repository.LookupComponentVersion(version.Name, version.Version)
	if err != nil {
		return Descriptor{}, fmt.Errorf("read component %s: %w", version, err)
	}
	defer func() { err = errors.Join(err, stored.Close()) }()
	return Descriptor{descriptor: stored.GetDescriptor().Copy()}, nil
}

// resign copies the signatures and the creation time of the stored descriptor,
// which has the same content, to the fresh one and adds the new signature.
func resign(fresh, stored *compdesc.ComponentDescriptor, signing *Signing) error {
	fresh.CreationTime = stored.CreationTime
	fresh.Signatures = stored.Signatures.Copy()
	return signing.sign(fresh)
}

// differences describes how the content of two descriptors differs. It ignores
// the repository contexts, the creation time and the signatures, because they
// change without a change of the module.
func differences(stored, fresh *compdesc.ComponentDescriptor) ([]string, error) {
	storedDigests, freshDigests := contentDigests(stored), contentDigests(fresh)
	var different []string
	for _, resource := range fresh.Resources {
		was, known := storedDigests[resource.Name]
		switch {
		case !known:
			different = append(different, "resource "+resource.Name+" is new")
		case was != freshDigests[resource.Name]:
			different = append(different, "resource "+resource.Name+" differs")
		}
	}
	for _, resource := range stored.Resources {
		if _, kept := freshDigests[resource.Name]; !kept {
			different = append(different, "resource "+resource.Name+" was removed")
		}
	}
	if len(different) > 0 {
		return different, nil
	}
	storedBytes, err := comparableBytes(stored)
	if err != nil {
		return nil, err
	}
	freshBytes, err := comparableBytes(fresh)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(storedBytes, freshBytes) {
		different = append(different, "the descriptor's metadata differs")
	}
	return different, nil
}

func contentDigests(descriptor *compdesc.ComponentDescriptor) map[string]string {
	digests := make(map[string]string, len(descriptor.Resources))
	for _, resource := range descriptor.Resources {
		digests[resource.Name] = ""
		if resource.Digest != nil {
			digests[resource.Name] = resource.Digest.Value
		}
	}
	return digests
}

func comparableBytes(descriptor *compdesc.ComponentDescriptor) ([]byte, error) {
	reduced := descriptor.Copy()
	reduced.RepositoryContexts = nil
	reduced.Signatures = nil
	reduced.CreationTime = nil
	for i := range reduced.Resources {
		// The digest identifies the content. The access depends on the store.
		reduced.Resources[i].Access = nil
	}
	data, err := compdesc.Encode(reduced, compdesc.SchemaVersion("v2"), compdesc.DefaultJSONCodec)
	if err != nil {
		return nil, fmt.Errorf("compare descriptors of component %s:%s: %w", descriptor.Name, descriptor.Version, err)
	}
	return data, nil
}
