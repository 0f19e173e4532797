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
)

const (
	// PerSecond is how many objects are rewritten in a second: 10,000 take about 8 minutes.
	PerSecond = 20
	// settle is how long to wait before objects are listed. Where several API servers run, each learns by itself that
	// another version is to be written, and until then may write the one before. Kubernetes gives them 5 s to learn of a
	// new definition.
	settle = 10 * time.Second
	// pageSize is how many objects a page of a LIST has.
	pageSize = 500
	// mostFailures is after how many objects that cannot be rewritten the others are not tried.
	mostFailures = 10
)

// Migrator rewrites the objects of a kind, so that all are stored in the version that is written today. It may be
// interrupted at any point: what was rewritten is so, and the definition says until the end that some may not be.
type Migrator struct {
	client    client.Client
	perSecond rate.Limit
	settle    time.Duration
	pageSize  int64
}

// New makes a Migrator that works by a client without a cache, whose scheme has CustomResourceDefinitions and
// SelfSubjectAccessReviews. A cache would hold all objects of each kind.
func New(live client.Client) *Migrator {
	return &Migrator{client: live, perSecond: PerSecond, settle: settle, pageSize: pageSize}
}

// Result is what was done for a CustomResourceDefinition.
type Result struct {
	// Before is the definition as it was read first. Nothing was done where it was migrated already.
	Before Definition
	// Objects is how many objects were there to be rewritten.
	Objects int
}

// object is an object to be rewritten, as it was listed. Only that is kept of each: there may be many.
type object struct {
	key             types.NamespacedName
	resourceVersion string
}

// Migrate rewrites all objects of a kind, by the name of its CustomResourceDefinition, where any may be stored in another
// version than the one that is written today, and then takes the other versions off its status.storedVersions. Nothing of
// an object changes but its resource version. Begin is called before objects are rewritten, with their number.
//
// The error wraps ErrMissing, a NotAllowedError or ErrChanged; whatever it is, the definition is as it was.
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
	// This is the definition that the objects are rewritten by. Any change of it, a storage version that is changed and
	// changed back included, refuses the end of this pass.
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

// list returns all objects of a kind, by pages of their metadata. An object that is made after that is stored in the
// version that is written today.
func (m *Migrator) list(ctx context.Context, d Definition) ([]object, error) {
	var all []object
	page := &metav1.PartialObjectMetadataList{}
	page.SetGroupVersionKind(d.Kind.GroupVersion().WithKind(d.Kind.Kind + "List"))
	for {
		if err := m.client.List(ctx, page, client.Limit(m.pageSize), client.Continue(page.Continue)); err != nil {
			return nil, fmt.Errorf("list %s: %w", d.Name, err)
		}
		for i := range page.Items {
			all = append(all, object{client.ObjectKeyFromObject(&page.Items[i]), page.Items[i].ResourceVersion})
		}
		if page.Continue == "" {
			return all, nil
		}
	}
}

// rewriteAll tries all objects, although one could not be rewritten: the error names several of those.
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

// rewrite has the API server write an object as it is. It does so where that is not what is stored: an object that is
// stored in the version of today already is not written, and keeps its resource version.
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
		return nil // somebody has just written it, in the version of today, or deleted it
	}
	if err != nil {
		return fmt.Errorf("rewrite %s %s: %w", d.Kind.Kind, o.key, err)
	}
	return nil
}

// conclude takes the older versions off the list of those that objects may be stored in, unless the definition is another
// one than it was before the objects were listed.
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
