package resolve

import (
	"cmp"
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// ManifestsByComponent is the name of the cache index that finds Manifests by their component.
const ManifestsByComponent = "lifecycle-manager.manifest-component"

// RegisterIndex registers the index ManifestsByComponent.
func RegisterIndex(ctx context.Context, indexer client.FieldIndexer) error {
	return desired.Register(ctx, indexer, desired.CacheIndex{Of: &v1beta2.Manifest{}, Name: ManifestsByComponent, Values: IndexManifestByComponent})
}

// IndexManifestByComponent returns the values of the index ManifestsByComponent.
func IndexManifestByComponent(object client.Object) []string {
	if manifest, ok := object.(*v1beta2.Manifest); ok {
		return []string{componentKey(manifest)}
	}
	return nil
}

// componentKey returns the component of a Manifest, or the name of its entry if the Manifest has no component.
func componentKey(manifest *v1beta2.Manifest) string {
	return cmp.Or(manifest.ComponentName(), desired.EntryOf(manifest))
}
