// Package component writes modules as OCM component versions: into an OCI
// registry or into an archive (CTF) in a folder. It knows nothing of
// Kubernetes; what goes into a component version comes from package layers.
package component

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mandelsoft/logging"
	"ocm.software/ocm/api/datacontext"
	"ocm.software/ocm/api/ocm/compdesc"
	metav1 "ocm.software/ocm/api/ocm/compdesc/meta/v1"
	_ "ocm.software/ocm/api/ocm/compdesc/versions/v2" // the schema that is written
	"ocm.software/ocm/api/ocm/cpi"
	_ "ocm.software/ocm/api/ocm/extensions/digester/digesters" // digests of resources
	"ocm.software/ocm/api/ocm/extensions/repositories/composition"
	"ocm.software/ocm/api/utils/blobaccess"
	ocmlog "ocm.software/ocm/api/utils/logging"
	"ocm.software/ocm/api/utils/runtime"

	"github.com/kyma-project/lifecycle-manager/cmd/module/layers"
)

// Version says what a component version consists of. Equal values give equal
// bytes in every registry, but for signatures with PSS: nothing in it depends on
// time or order of files.
type Version struct {
	// Name is the component name, such as kyma-project.io/module/sample.
	Name string
	// Version is a semantic version.
	Version string
	// Provider names who ships the component.
	Provider string
	// Layers become the resources of the component version, in this order.
	Layers []layers.Layer
	// Signing says how it is signed; nil leaves it unsigned.
	Signing *Signing
}

// String is NAME:VERSION, as people write it.
func (v Version) String() string { return v.Name + ":" + v.Version }

// Descriptor is a component descriptor in schema v2 as it is stored.
type Descriptor struct {
	descriptor *compdesc.ComponentDescriptor
}

// JSON is the descriptor in schema v2, the form that a ModuleTemplate embeds.
func (d Descriptor) JSON() ([]byte, error) {
	data, err := compdesc.Encode(d.descriptor, compdesc.SchemaVersion("v2"), compdesc.DefaultJSONCodec)
	if err != nil {
		return nil, fmt.Errorf("encode descriptor of component %s:%s: %w", d.descriptor.Name, d.descriptor.Version, err)
	}
	return data, nil
}

// ResourceDigests maps the name of each resource to the digest of its blob.
func (d Descriptor) ResourceDigests() (map[string]string, error) {
	digests := make(map[string]string, len(d.descriptor.Resources))
	for _, resource := range d.descriptor.Resources {
		raw, err := json.Marshal(resource.Access)
		if err != nil {
			return nil, fmt.Errorf("read access of resource %s: %w", resource.Name, err)
		}
		var access struct {
			LocalReference string `json:"localReference"`
		}
		if err := json.Unmarshal(raw, &access); err != nil {
			return nil, fmt.Errorf("read access of resource %s: %w", resource.Name, err)
		}
		digests[resource.Name] = access.LocalReference
	}
	return digests, nil
}

// LogErrorsOnly silences the OCM library's own log below errors: it writes a
// warning for each connection without TLS, which whoever asked for PlainHTTP
// knows. The log is one for the whole process, so the program decides.
func LogErrorsOnly() {
	ocmlog.Context().SetDefaultLevel(logging.ErrorLevel)
}

// newContext is an OCM context of our own, with nothing configured from the
// user's home: what is written depends on the arguments alone.
func newContext() cpi.Context {
	return cpi.New(datacontext.MODE_EXTENDED)
}

// compose builds the component version in memory. The caller closes it.
func compose(octx cpi.Context, version Version, context runtime.TypedObject) (_ cpi.ComponentVersionAccess, err error) {
	composed := composition.NewComponentVersion(octx, version.Name, version.Version)
	defer func() {
		if err != nil {
			err = errors.Join(err, composed.Close())
		}
	}()
	descriptor := composed.GetDescriptor()
	descriptor.Provider.Name = metav1.ProviderName(version.Provider)
	if context != nil {
		if err := descriptor.AddRepositoryContext(context); err != nil {
			return nil, fmt.Errorf("note the registry in component %s: %w", version, err)
		}
	}
	for _, layer := range version.Layers {
		meta := compdesc.NewResourceMeta(layer.Name, layer.Type, metav1.LocalRelation)
		blob := blobaccess.ForData(layer.MediaType, layer.Data)
		if err := composed.SetResourceBlob(meta, blob, "", nil); err != nil {
			return nil, fmt.Errorf("add resource %s to component %s: %w", layer.Name, version, err)
		}
	}
	if err := compdesc.Validate(descriptor); err != nil {
		return nil, fmt.Errorf("component %s is not valid: %w", version, err)
	}
	if version.Signing != nil {
		if err := version.Signing.sign(descriptor); err != nil {
			return nil, err
		}
	}
	return composed, nil
}
