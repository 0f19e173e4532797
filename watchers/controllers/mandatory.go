package controllers

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/pages"
)

// mandatoryRequest names a mandatory module.
type mandatoryRequest struct{ Module string }

type mandatoryQueue = workqueue.TypedRateLimitingInterface[mandatoryRequest]

// mandatoryCheck is how often a module under removal is checked, in case an event was missed.
const mandatoryCheck = 30 * time.Second

// mandatoryPage is the page size for listing Manifests.
const mandatoryPage = 500

// addMandatory keeps the object that makes a module mandatory until the module is removed everywhere. The object is a
// release meta or, without one, a template. It is what shows that the module must be removed
// (docs/contract.md#finalizers).
func (c *controllers) addMandatory(mgr manager.Manager) error {
	manifests := handler.TypedFuncs[*v1beta2.Manifest, mandatoryRequest]{
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[*v1beta2.Manifest], q mandatoryQueue) {
			if e.Object.IsMandatory() {
				q.Add(mandatoryRequest{Module: e.Object.ModuleName()})
			}
		},
	}
	return builder.TypedControllerManagedBy[mandatoryRequest](mgr).Named("mandatory-module").
		WatchesRawSource(source.TypedKind(mgr.GetCache(), &v1beta2.ModuleReleaseMeta{}, mandatoryHandler(func(meta *v1beta2.ModuleReleaseMeta) (string, bool) {
			return desired.ReleaseMetaModule(meta), meta.Spec.Mandatory != nil
		}))).
		WatchesRawSource(source.TypedKind(mgr.GetCache(), &v1beta2.ModuleTemplate{}, mandatoryHandler(func(template *v1beta2.ModuleTemplate) (string, bool) {
			return desired.MandatoryModuleOf(template), desired.IsMandatory(template)
		}))).
		WatchesRawSource(source.TypedKind(mgr.GetCache(), &v1beta2.Manifest{}, manifests)).
		Complete(reconcile.TypedFunc[mandatoryRequest](c.reconcileMandatory))
}

func mandatoryHandler[T client.Object](about func(T) (module string, mandatory bool)) handler.TypedFuncs[T, mandatoryRequest] {
	add := func(object T, q mandatoryQueue) {
		if module, mandatory := about(object); mandatory || controllerutil.ContainsFinalizer(object, shared.FinalizerMandatoryModule) {
			q.Add(mandatoryRequest{Module: module})
		}
	}
	return handler.TypedFuncs[T, mandatoryRequest]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[T], q mandatoryQueue) { add(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[T], q mandatoryQueue) {
			add(e.ObjectOld, q)
			add(e.ObjectNew, q)
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[T], q mandatoryQueue) { add(e.Object, q) },
	}
}

// decider is a release meta or template that makes a module mandatory, or once did.
type decider struct {
	client.Object
	mandatory bool
}

// reconcileMandatory adds the finalizer to objects that make a module mandatory. It removes the finalizer when another
// object makes the module mandatory, or when no cluster has the module any more.
func (c *controllers) reconcileMandatory(ctx context.Context, req mandatoryRequest) (reconcile.Result, error) {
	deciders, err := c.deciders(ctx, req.Module)
	if err != nil {
		return reconcile.Result{}, err
	}
	// The templates are marked before a release meta gets the finalizer, and so before the release meta can be deleted.
	if again, err := c.subordinate(ctx, deciders); !again.IsZero() || err != nil {
		return again, err
	}
	remains := map[types.UID]bool{}
	for _, d := range deciders {
		if d.mandatory && d.GetDeletionTimestamp().IsZero() {
			remains[d.GetUID()] = true
			if again, err := c.finalizer(ctx, d.Object, controllerutil.AddFinalizer); !again.IsZero() || err != nil {
				return again, err
			}
		}
	}
	again := reconcile.Result{}
	for _, d := range deciders {
		if remains[d.GetUID()] || !controllerutil.ContainsFinalizer(d.Object, shared.FinalizerMandatoryModule) {
			continue
		}
		if len(remains) == 0 {
			installed, err := c.isInstalled(ctx, req.Module)
			if err != nil {
				return reconcile.Result{}, err
			}
			if installed {
				again.RequeueAfter = mandatoryCheck
				continue
			}
		}
		if again, err := c.finalizer(ctx, d.Object, controllerutil.RemoveFinalizer); !again.IsZero() || err != nil {
			return again, err
		}
	}
	return again, nil
}

// deciders returns the release metas of a module and its templates. A template counts as mandatory only if the module
// has no release meta.
func (c *controllers) deciders(ctx context.Context, module string) ([]decider, error) {
	index := desired.NewCached(c.reader)
	metas, err := index.ReleaseMetas(ctx, module)
	if err != nil {
		return nil, err
	}
	var all []decider
	byMeta := false
	for _, meta := range metas {
		if c.settings.Ours(meta.Labels) {
			all = append(all, decider{meta.DeepCopy(), meta.Spec.Mandatory != nil})
			byMeta = byMeta || meta.DeletionTimestamp.IsZero()
		}
	}
	templates, err := index.Templates(ctx, module)
	if err != nil {
		return nil, err
	}
	for _, template := range templates {
		if c.settings.Ours(template.Labels) && desired.MandatoryModuleOf(template) == module {
			all = append(all, decider{template.DeepCopy(), desired.MakesMandatory(template) && !byMeta})
		}
	}
	return all, nil
}

// isInstalled reports, by a live read, whether this instance still has a Manifest of a mandatory module.
func (c *controllers) isInstalled(ctx context.Context, module string) (found bool, err error) {
	selected := client.MatchingLabels{shared.LabelMandatoryModule: shared.ValueTrue, shared.LabelManagedBy: c.settings.ManagedBy}
	// A name that is no valid label value cannot be selected; the annotation has it.
	named, size := len(validation.IsValidLabelValue(module)) == 0, int64(mandatoryPage)
	if named {
		selected[shared.LabelModuleName], size = module, 1
	}
	namespaces := c.settings.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	manifest := v1beta2.GroupVersion.WithKind(shared.KindManifest)
	for _, namespace := range namespaces {
		err := pages.Metadata(ctx, c.live, manifest, size, func(m *metav1.PartialObjectMetadata) bool {
			found = named || m.Annotations[desired.AnnotationModuleEntry] == module
			return !found
		}, client.InNamespace(namespace), selected)
		if err != nil {
			return false, fmt.Errorf("list the Manifests of mandatory module %s: %w", module, err)
		}
		if found {
			return true, nil
		}
	}
	return false, nil
}

// subordinate records on the templates of a module that a release meta decides about the module.
func (c *controllers) subordinate(ctx context.Context, deciders []decider) (again reconcile.Result, err error) {
	by := ""
	for _, d := range deciders {
		if meta, ok := d.Object.(*v1beta2.ModuleReleaseMeta); ok && d.mandatory && meta.DeletionTimestamp.IsZero() {
			by = meta.Name
		}
	}
	for _, d := range deciders {
		template, ok := d.Object.(*v1beta2.ModuleTemplate)
		if !ok || by == "" || !desired.MakesMandatory(template) {
			continue
		}
		again, err = c.patch(ctx, template, func() bool {
			metav1.SetMetaDataAnnotation(&template.ObjectMeta, desired.AnnotationMandatoryBy, by)
			return true
		})
		if !again.IsZero() || err != nil {
			return again, err
		}
	}
	return reconcile.Result{}, nil
}

// finalizer adds or removes the finalizer.
func (c *controllers) finalizer(ctx context.Context, object client.Object, change func(client.Object, string) bool) (again reconcile.Result, err error) {
	return c.patch(ctx, object, func() bool { return change(object, shared.FinalizerMandatoryModule) })
}
