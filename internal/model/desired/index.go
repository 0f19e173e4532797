package desired

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// Names of the cache indexes of RegisterIndexes and RegisterKymaIndex.
const (
	// IndexTemplateKeys indexes ModuleTemplates by KeysOfTemplate.
	IndexTemplateKeys = "lifecycle-manager.template-keys"
	// IndexReleaseMetaKeys indexes ModuleReleaseMetas by KeysOfReleaseMeta.
	IndexReleaseMetaKeys = "lifecycle-manager.release-meta-keys"
	// IndexRolloutModule indexes ModuleRollouts by their module.
	IndexRolloutModule = "lifecycle-manager.rollout-module"
	// IndexKymaReferences indexes Kymas by References.
	IndexKymaReferences = "lifecycle-manager.kyma-references"
)

// TemplateKeysIndexer returns the keys for IndexTemplateKeys.
func TemplateKeysIndexer(object client.Object) []string { return Keys(KeysOfTemplate)(object) }

// ReleaseMetaKeysIndexer returns the keys for IndexReleaseMetaKeys.
func ReleaseMetaKeysIndexer(object client.Object) []string { return Keys(KeysOfReleaseMeta)(object) }

// KymaReferencesIndexer returns the keys for IndexKymaReferences.
func KymaReferencesIndexer(object client.Object) []string { return Keys(References)(object) }

// RolloutModuleIndexer returns the keys for IndexRolloutModule.
func RolloutModuleIndexer(object client.Object) []string { return Keys(keysOfRollout)(object) }

func keysOfRollout(r *v1beta2.ModuleRollout) []string {
	if IsSyncedCopy(r) {
		return nil
	}
	return []string{r.Spec.ModuleName}
}

// Keys returns the function for a cache index of one kind. It returns no keys for other kinds.
func Keys[T client.Object](keys func(T) []string) client.IndexerFunc {
	return func(object client.Object) []string {
		if of, ok := object.(T); ok {
			return keys(of)
		}
		return nil
	}
}

// CacheIndex is an index of a cache.
type CacheIndex struct {
	Of     client.Object
	Name   string
	Values client.IndexerFunc
}

// Register creates indexes. It must be called before the cache is started.
func Register(ctx context.Context, indexer client.FieldIndexer, indexes ...CacheIndex) error {
	for _, index := range indexes {
		if err := indexer.IndexField(ctx, index.Of, index.Name, index.Values); err != nil {
			return fmt.Errorf("create index %s: %w", index.Name, err)
		}
	}
	return nil
}

// RegisterIndexes creates the indexes that NewCached needs.
func RegisterIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	return Register(ctx, indexer,
		CacheIndex{&v1beta2.ModuleTemplate{}, IndexTemplateKeys, TemplateKeysIndexer},
		CacheIndex{&v1beta2.ModuleReleaseMeta{}, IndexReleaseMetaKeys, ReleaseMetaKeysIndexer},
		CacheIndex{&v1beta2.ModuleRollout{}, IndexRolloutModule, RolloutModuleIndexer},
	)
}

// RegisterKymaIndex creates the index with which a watcher finds the Kymas that a template or release meta concerns: it
// lists the Kymas for each key of the object and merges the results.
func RegisterKymaIndex(ctx context.Context, indexer client.FieldIndexer) error {
	return Register(ctx, indexer, CacheIndex{&v1beta2.Kyma{}, IndexKymaReferences, KymaReferencesIndexer})
}

// Cached is an Index over a cache with the indexes of RegisterIndexes.
type Cached struct {
	reader client.Reader
}

// NewCached returns an Index over the cache behind the reader.
func NewCached(reader client.Reader) *Cached { return &Cached{reader: reader} }

// Templates returns the templates with the key.
func (c *Cached) Templates(ctx context.Context, key string) ([]*v1beta2.ModuleTemplate, error) {
	var list v1beta2.ModuleTemplateList
	err := c.reader.List(ctx, &list, client.MatchingFields{IndexTemplateKeys: key}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list ModuleTemplates for %s: %w", key, err)
	}
	return lists.Pointers(list.Items), nil
}

// ReleaseMetas returns the release metas with the key.
func (c *Cached) ReleaseMetas(ctx context.Context, key string) ([]*v1beta2.ModuleReleaseMeta, error) {
	var list v1beta2.ModuleReleaseMetaList
	err := c.reader.List(ctx, &list, client.MatchingFields{IndexReleaseMetaKeys: key}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list ModuleReleaseMetas for %s: %w", key, err)
	}
	return lists.Pointers(list.Items), nil
}

// Rollouts returns the rollouts of a module.
func (c *Cached) Rollouts(ctx context.Context, module string) ([]*v1beta2.ModuleRollout, error) {
	var list v1beta2.ModuleRolloutList
	err := c.reader.List(ctx, &list, client.MatchingFields{IndexRolloutModule: module}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list the ModuleRollouts of module %s: %w", module, err)
	}
	return lists.Pointers(list.Items), nil
}
