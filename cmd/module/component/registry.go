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

// ErrVersionExists says that the registry holds the version already, with
// other content.
var ErrVersionExists = errors.New("this version exists with other content")

// Registry is an OCI registry that component versions are pushed to.
type Registry struct {
	// Address is HOST[:PORT][/SUBPATH], without a scheme. Component versions
	// are at ADDRESS/component-descriptors/<component name>:<version>.
	Address string
	// PlainHTTP speaks HTTP without TLS to the registry, and says so in the
	// descriptor (an address that begins with http://).
	PlainHTTP bool
	// Username and Password are sent to the registry when Username is set.
	Username, Password string
}

// Outcome is what a push found and did.
type Outcome struct {
	// Descriptor is the one that the registry holds now.
	Descriptor Descriptor
	// Written is false when the registry held the same content already.
	Written bool
}

// Push writes the component version into the registry. Content that is there
// already is left alone, so a push may be repeated; a signature that it lacks is
// added. A version that is there with other content gives ErrVersionExists, unless
// overwrite is set.
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
		return Outcome{}, fmt.Errorf("look into registry %s: %w", r.Address, err)
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
			return Outcome{}, fmt.Errorf("component %s in registry %s: %w: %s",
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

// resign makes the descriptor that is about to replace a stored one of the same
// content carry the stored one's signatures and time, and the new signature.
func resign(fresh, stored *compdesc.ComponentDescriptor, signing *Signing) error {
	fresh.CreationTime = stored.CreationTime
	fresh.Signatures = stored.Signatures.Copy()
	return signing.sign(fresh)
}

// differences names what differs between a stored and a new descriptor, apart
// from what changes without a change of the module: where it was stored
// before, when, and who signed it.
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
			different = append(different, "resource "+resource.Name+" is gone")
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
		different = append(different, "the descriptor's metadata differ")
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
		// The digest identifies the content; how a store names its blob is its
		// own affair.
		reduced.Resources[i].Access = nil
	}
	data, err := compdesc.Encode(reduced, compdesc.SchemaVersion("v2"), compdesc.DefaultJSONCodec)
	if err != nil {
		return nil, fmt.Errorf("compare descriptors of component %s:%s: %w", descriptor.Name, descriptor.Version, err)
	}
	return data, nil
}
