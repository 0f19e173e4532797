package desired

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/lists"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Index finds templates and release metas by key, at a cost that does not depend on how many there are.
// What it returns is shared: it must not be changed.
type Index interface {
	Templates(ctx context.Context, key string) ([]*v1beta2.ModuleTemplate, error)
	ReleaseMetas(ctx context.Context, key string) ([]*v1beta2.ModuleReleaseMeta, error)
	// Rollouts are those of a module, by its name.
	Rollouts(ctx context.Context, module string) ([]*v1beta2.ModuleRollout, error)
}

// Lists is an Index over complete lists.
type Lists struct {
	templates map[string][]*v1beta2.ModuleTemplate
	metas     map[string][]*v1beta2.ModuleReleaseMeta
	rollouts  map[string][]*v1beta2.ModuleRollout
}

// NewLists indexes complete lists, which it keeps.
func NewLists(templates []v1beta2.ModuleTemplate, metas []v1beta2.ModuleReleaseMeta) *Lists {
	l := &Lists{
		templates: map[string][]*v1beta2.ModuleTemplate{},
		metas:     map[string][]*v1beta2.ModuleReleaseMeta{},
	}
	for i := range templates {
		for _, key := range KeysOfTemplate(&templates[i]) {
			l.templates[key] = append(l.templates[key], &templates[i])
		}
	}
	for i := range metas {
		for _, key := range KeysOfReleaseMeta(&metas[i]) {
			l.metas[key] = append(l.metas[key], &metas[i])
		}
	}
	return l
}

// WithRollouts indexes a complete list of rollouts too, which it keeps.
func (l *Lists) WithRollouts(rollouts []v1beta2.ModuleRollout) *Lists {
	l.rollouts = map[string][]*v1beta2.ModuleRollout{}
	for i := range rollouts {
		if module := rollouts[i].Spec.ModuleName; !IsSyncedCopy(&rollouts[i]) {
			l.rollouts[module] = append(l.rollouts[module], &rollouts[i])
		}
	}
	return l
}

// Templates returns the templates that answer to the key. The error is always nil.
func (l *Lists) Templates(_ context.Context, key string) ([]*v1beta2.ModuleTemplate, error) {
	return l.templates[key], nil
}

// ReleaseMetas returns the release metas that answer to the key. The error is always nil.
func (l *Lists) ReleaseMetas(_ context.Context, key string) ([]*v1beta2.ModuleReleaseMeta, error) {
	return l.metas[key], nil
}

// Rollouts returns those of a module. The error is always nil.
func (l *Lists) Rollouts(_ context.Context, module string) ([]*v1beta2.ModuleRollout, error) {
	return l.rollouts[module], nil
}

// Names of the cache indexes that RegisterIndexes makes.
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

// TemplateKeysIndexer and those below are the functions behind the cache indexes.
func TemplateKeysIndexer(object client.Object) []string {
	template, ok := object.(*v1beta2.ModuleTemplate)
	if !ok {
		return nil
	}
	return KeysOfTemplate(template)
}

// ReleaseMetaKeysIndexer is the function behind IndexReleaseMetaKeys.
func ReleaseMetaKeysIndexer(object client.Object) []string {
	meta, ok := object.(*v1beta2.ModuleReleaseMeta)
	if !ok {
		return nil
	}
	return KeysOfReleaseMeta(meta)
}

// KymaReferencesIndexer is the function behind IndexKymaReferences.
func KymaReferencesIndexer(object client.Object) []string {
	kyma, ok := object.(*v1beta2.Kyma)
	if !ok {
		return nil
	}
	return References(kyma)
}

// RolloutModuleIndexer is the function behind IndexRolloutModule.
func RolloutModuleIndexer(object client.Object) []string {
	r, ok := object.(*v1beta2.ModuleRollout)
	if !ok || IsSyncedCopy(r) {
		return nil
	}
	return []string{r.Spec.ModuleName}
}

// RegisterIndexes makes the indexes that NewCached needs. It must be called before the cache is started.
func RegisterIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	for _, index := range []struct {
		object client.Object
		name   string
		values client.IndexerFunc
	}{
		{&v1beta2.ModuleTemplate{}, IndexTemplateKeys, TemplateKeysIndexer},
		{&v1beta2.ModuleReleaseMeta{}, IndexReleaseMetaKeys, ReleaseMetaKeysIndexer},
		{&v1beta2.ModuleRollout{}, IndexRolloutModule, RolloutModuleIndexer},
	} {
		if err := indexer.IndexField(ctx, index.object, index.name, index.values); err != nil {
			return fmt.Errorf("make the index %s: %w", index.name, err)
		}
	}
	return nil
}

// RegisterKymaIndex makes the index by which a watcher finds the Kymas that a template or release meta
// concerns: one list for each of its keys, merged.
func RegisterKymaIndex(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &v1beta2.Kyma{}, IndexKymaReferences, KymaReferencesIndexer); err != nil {
		return fmt.Errorf("index Kymas: %w", err)
	}
	return nil
}

// Cached is an Index over a cache with the indexes of RegisterIndexes.
type Cached struct {
	reader client.Reader
}

// NewCached returns an Index over the cache behind the reader.
func NewCached(reader client.Reader) *Cached { return &Cached{reader: reader} }

// Templates returns the templates that answer to the key.
func (c *Cached) Templates(ctx context.Context, key string) ([]*v1beta2.ModuleTemplate, error) {
	var list v1beta2.ModuleTemplateList
	err := c.reader.List(ctx, &list, client.MatchingFields{IndexTemplateKeys: key}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list ModuleTemplates for %s: %w", key, err)
	}
	return lists.Pointers(list.Items), nil
}

// ReleaseMetas returns the release metas that answer to the key.
func (c *Cached) ReleaseMetas(ctx context.Context, key string) ([]*v1beta2.ModuleReleaseMeta, error) {
	var list v1beta2.ModuleReleaseMetaList
	err := c.reader.List(ctx, &list, client.MatchingFields{IndexReleaseMetaKeys: key}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list ModuleReleaseMetas for %s: %w", key, err)
	}
	return lists.Pointers(list.Items), nil
}

// Rollouts returns those of a module.
func (c *Cached) Rollouts(ctx context.Context, module string) ([]*v1beta2.ModuleRollout, error) {
	var list v1beta2.ModuleRolloutList
	err := c.reader.List(ctx, &list, client.MatchingFields{IndexRolloutModule: module}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list the ModuleRollouts of module %s: %w", module, err)
	}
	return lists.Pointers(list.Items), nil
}

// byName orders objects by namespace and name, so that the order of events never matters.
func byName[T client.Object](objects []T) []T {
	slices.SortFunc(objects, func(a, b T) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return slices.CompactFunc(objects, func(a, b T) bool {
		return a.GetNamespace() == b.GetNamespace() && a.GetName() == b.GetName()
	})
}
