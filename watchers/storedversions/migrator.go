package storedversions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/time/rate"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/platform/pages"
)

const (
	// PerSecond is how many objects are rewritten per second: 10,000 objects take about 8 minutes.
	PerSecond = 20
	// settle is how long to wait before objects are listed. If several API servers run, each learns of the new storage
	// version by itself, and may write the previous version before. Kubernetes gives API servers 5 s to learn of a new
	// definition.
	settle = 10 * time.Second
	// pageSize is the page size of a LIST.
	pageSize = 500
	// mostFailures is the number of failed objects after which the remaining objects are not tried.
	mostFailures = 10
)

// Migrator rewrites the objects of a kind so that all are stored in the present storage version. It may be interrupted
// at any point: rewritten objects stay rewritten, and the definition keeps its stored versions until the end.
type Migrator struct {
	client    client.Client
	perSecond rate.Limit
	settle    time.Duration
	pageSize  int64
}

// New returns a Migrator. The client must have no cache, because a cache would hold all objects of each kind. Its
// scheme must have CustomResourceDefinitions and SelfSubjectAccessReviews.
func New(live client.Client) *Migrator {
	return &Migrator{client: live, perSecond: PerSecond, settle: settle, pageSize: pageSize}
}

// Result reports what was done for a CustomResourceDefinition.
type Result struct {
	// Before is the definition as it was first read. If it was already migrated, nothing was done.
	Before Definition
	// Objects is the number of objects to rewrite.
	Objects int
}

// object is a listed object. Only these fields are kept, because there may be many objects.
type object struct {
	key             types.NamespacedName
	resourceVersion string
}

// Migrate rewrites all objects of a kind if any may be stored in a version other than the present storage version. It
// then removes the other versions from status.storedVersions of the CustomResourceDefinition. Only the resourceVersion
// of an object changes. Migrate calls begin before it rewrites objects, with their number.
//
// The error may wrap ErrMissing, a NotAllowedError or ErrChanged. On any error the definition is unchanged.
func (m *Migrator) Migrate(ctx context.Context, name string, begin func(d Definition, objects int)) (Result, error) {
	d, err := m.read(ctx, name)
	result := Result{Before: d}
	if err != nil || d.Migrated() {
		return result, err
	}
	if err := m.mayMigrate(ctx, d); err != nil {
		return result, err
	}
	if err := sleep(ctx, m.settle); err != nil {
		return result, err
	}
	// The objects are rewritten by this definition. Any change of it makes this pass fail at its end, even if the
	// storage version is changed back.
	if d, err = m.read(ctx, name); err != nil || d.Migrated() {
		return result, err
	}
	objects, err := m.list(ctx, d)
	if err != nil {
		return result, err
	}
	if err := m.mayRewrite(ctx, d, objects); err != nil {
		return result, err
	}
	result.Objects = len(objects)
	begin(d, len(objects))
	if err := m.rewriteAll(ctx, d, objects); err != nil {
		return result, err
	}
	return result, m.conclude(ctx, d)
}

func (m *Migrator) read(ctx context.Context, name string) (Definition, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	err := m.client.Get(ctx, types.NamespacedName{Name: name}, crd)
	switch {
	case apierrors.IsNotFound(err):
		return Definition{Name: name}, fmt.Errorf("CustomResourceDefinition %s: %w", name, ErrMissing)
	case apierrors.IsForbidden(err):
		return Definition{Name: name}, &NotAllowedError{Missing: []string{"get customresourcedefinitions." + apiextensionsv1.GroupName + " named " + name}}
	case err != nil:
		return Definition{Name: name}, fmt.Errorf("read CustomResourceDefinition %s: %w", name, err)
	}
	return definitionOf(crd)
}

// list returns all objects of a kind, from pages of their metadata. Objects created later are stored in the present
// storage version.
func (m *Migrator) list(ctx context.Context, d Definition) ([]object, error) {
	var all []object
	err := pages.Metadata(ctx, m.client, d.Kind, m.pageSize, func(o *metav1.PartialObjectMetadata) bool {
		all = append(all, object{client.ObjectKeyFromObject(o), o.ResourceVersion})
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", d.Name, err)
	}
	return all, nil
}

// rewriteAll tries all objects even if some fail. The error names the failed objects.
func (m *Migrator) rewriteAll(ctx context.Context, d Definition, objects []object) error {
	limiter := rate.NewLimiter(m.perSecond, 1)
	var failures []error
	for _, o := range objects {
		if err := limiter.Wait(ctx); err != nil {
			return fmt.Errorf("rewrite %s: %w", d.Name, err)
		}
		if err := m.rewrite(ctx, d, o); err != nil {
			failures = append(failures, err)
		}
		if len(failures) == mostFailures {
			break
		}
	}
	return errors.Join(failures...)
}

// rewrite lets the API server write an object unchanged. An object already stored in the present version is not
// written, and keeps its resourceVersion.
func (m *Migrator) rewrite(ctx context.Context, d Definition, o object) error {
	there := &metav1.PartialObjectMetadata{}
	there.SetGroupVersionKind(d.Kind)
	there.Namespace, there.Name = o.key.Namespace, o.key.Name
	nothing, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": o.resourceVersion}})
	if err != nil {
		return fmt.Errorf("encode the patch of %s %s: %w", d.Kind.Kind, o.key, err)
	}
	err = m.client.Patch(ctx, there, client.RawPatch(types.MergePatchType, nothing), client.FieldOwner(shared.FieldManagerLifecycleManager))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // it has just been written in the present version, or deleted
	}
	if err != nil {
		return fmt.Errorf("rewrite %s %s: %w", d.Kind.Kind, o.key, err)
	}
	return nil
}

// conclude removes the older versions from status.storedVersions, unless the definition has changed since before the
// objects were listed.
func (m *Migrator) conclude(ctx context.Context, d Definition) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": d.ResourceVersion},
		"status":   map[string]any{"storedVersions": []string{d.Kind.Version}},
	})
	if err != nil {
		return fmt.Errorf("encode the patch of CustomResourceDefinition %s: %w", d.Name, err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: d.Name}}
	err = m.client.Status().Patch(ctx, crd, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(shared.FieldManagerLifecycleManager))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return fmt.Errorf("CustomResourceDefinition %s: %w", d.Name, ErrChanged)
	}
	if err != nil {
		return fmt.Errorf("write the stored versions of CustomResourceDefinition %s: %w", d.Name, err)
	}
	return nil
}

func sleep(ctx context.Context, span time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(span):
		return nil
	}
}
