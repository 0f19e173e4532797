// Package component writes modules as OCM component versions, either into an OCI
// registry (Registry.Push) or into a common transport archive in a folder
// (WriteArchive). It knows nothing about Kubernetes. Package layers provides the
// content.
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

// Version describes the content of a component version. Equal values give equal
// bytes in every registry, except for PSS signatures: nothing depends on the time
// or on the order of files.
type Version struct {
	// Name is the component name, such as kyma-project.io/module/sample.
	Name string
	// Version is a semantic version.
	Version string
	// Provider is the organization that ships the component.
	Provider string
	// Layers become the resources of the component version, in this order.
	Layers []layers.Layer
	// Signing signs the component version. Nil leaves it unsigned.
	Signing *Signing
}

// String returns NAME:VERSION.
func (v Version) String() string { return v.Name + ":" + v.Version }

// Descriptor is a stored component descriptor in schema v2.
type Descriptor struct {
	descriptor *compdesc.ComponentDescriptor
}

// JSON returns the descriptor in schema v2, the form that a ModuleTemplate
// embeds.
func (d Descriptor) JSON() ([]byte, error) {
	data, err := compdesc.Encode(d.descriptor, compdesc.SchemaVersion("v2"), compdesc.DefaultJSONCodec)
	if err != nil {
		return nil, fmt.Errorf("encode descriptor of component %s:%s: %w", d.descriptor.Name, d.descriptor.Version, err)
	}
	return data, nil
}

// ResourceDigests returns the digest of each resource's blob by the resource's
// name.
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

// LogErrorsOnly silences warnings of the OCM library, which logs one for each
// connection without TLS. A caller who sets PlainHTTP knows this already. The
// library has one log for the whole process, so the program must call this.
func LogErrorsOnly() {
	ocmlog.Context().SetDefaultLevel(logging.ErrorLevel)
}

// newContext returns an OCM context that does not read any configuration from the
// user's home directory. The result therefore depends only on the arguments.
func newContext() cpi.Context {
	return cpi.New(datacontext.MODE_EXTENDED)
}

// compose builds the component version in memory. The caller must close it.
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
			return nil, fmt.Errorf("record the registry in component %s: %w", version, err)
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
