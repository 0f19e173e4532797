package resolve

import (
	"cmp"
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// ManifestsByComponent is the name of the cache index of Manifests by their component.
const ManifestsByComponent = "lifecycle-manager.manifest-component"

// RegisterIndex makes the index ManifestsByComponent.
func RegisterIndex(ctx context.Context, indexer client.FieldIndexer) error {
	err := indexer.IndexField(ctx, &v1beta2.Manifest{}, ManifestsByComponent, IndexManifestByComponent)
	if err != nil {
		return fmt.Errorf("index Manifests by component: %w", err)
	}
	return nil
}

// IndexManifestByComponent computes the index ManifestsByComponent.
func IndexManifestByComponent(object client.Object) []string {
	if manifest, ok := object.(*v1beta2.Manifest); ok {
		return []string{componentKey(manifest)}
	}
	return nil
}

// componentKey is the component of a Manifest, or its entry's name where it does not say.
func componentKey(manifest *v1beta2.Manifest) string {
	return cmp.Or(manifest.ComponentName(), desired.EntryOf(manifest))
}
