package watchers

import (
	"context"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
)

// catalogSources watch ModuleTemplates, ModuleReleaseMetas and ModuleRollouts. A change requests a reconcile of each
// Kyma with a module that could resolve to the changed object; an index finds these Kymas. The initial list is skipped,
// because the digest of each Kyma covers it.
func (w *watcher) catalogSources(mgr manager.Manager) []source.TypedSource[kymaRequest] {
	return []source.TypedSource[kymaRequest]{
		source.TypedKind(mgr.GetCache(), &v1beta2.ModuleTemplate{},
			catalogHandler(w, shared.KindModuleTemplate, w.keysOfTemplate)),
		source.TypedKind(mgr.GetCache(), &v1beta2.ModuleReleaseMeta{},
			catalogHandler(w, shared.KindModuleReleaseMeta, func(_ context.Context, meta *v1beta2.ModuleReleaseMeta) []string {
				return desired.KeysOfReleaseMeta(meta)
			})),
		source.TypedKind(mgr.GetCache(), &v1beta2.ModuleRollout{}, w.releases()),
	}
}

// keysOfTemplate returns the index keys of a template. The template of a mandatory module concerns every Kyma, even if
// only the release meta marks the module as mandatory.
func (w *watcher) keysOfTemplate(ctx context.Context, template *v1beta2.ModuleTemplate) []string {
	keys := desired.KeysOfTemplate(template)
	for _, key := range keys {
		metas, err := desired.NewCached(w.reader).ReleaseMetas(ctx, key)
		if err != nil {
			log.FromContext(ctx).Error(err, "find the ModuleReleaseMetas of a template", logkey.Kind, shared.KindModuleTemplate,
				logkey.Namespace, template.Namespace, logkey.Name, template.Name)
			break // the sweep computes every Kyma's digest
		}
		for _, meta := range metas {
			if meta.Spec.Mandatory != nil {
				return append(keys, desired.MandatoryKey)
			}
		}
	}
	return keys
}

func catalogHandler[T client.Object](w *watcher, kind string, keys func(context.Context, T) []string) handler.TypedFuncs[T, kymaRequest] {
	return newsOf(w.changed, func(ctx context.Context, before, after T, q kymaQueue) {
		w.enqueueReferrers(ctx, causeOf(kind, after), append(keys(ctx, before), keys(ctx, after)...), q)
	})
}

// newsOf returns a handler that calls add, with the old and the new object, when an object is created, changed or
// deleted. The initial list is skipped, because every watcher that uses newsOf has another way to cover it.
func newsOf[T client.Object, R comparable](
	changed func(before, after client.Object) bool,
	add func(ctx context.Context, before, after T, q workqueue.TypedRateLimitingInterface[R]),
) handler.TypedFuncs[T, R] {
	type queue = workqueue.TypedRateLimitingInterface[R]
	return handler.TypedFuncs[T, R]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[T], q queue) {
			if !e.IsInInitialList {
				add(ctx, e.Object, e.Object, q)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[T], q queue) {
			if changed(e.ObjectOld, e.ObjectNew) {
				add(ctx, e.ObjectOld, e.ObjectNew, q)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[T], q queue) { add(ctx, e.Object, e.Object, q) },
	}
}

func isWritten(before, after client.Object) bool {
	return before.GetResourceVersion() != after.GetResourceVersion()
}

func isEdited(before, after client.Object) bool {
	return before.GetGeneration() != after.GetGeneration()
}

// enqueueReferrers requests a reconcile of every Kyma that refers to one of the keys.
func (w *watcher) enqueueReferrers(ctx context.Context, c cause, keys []string, q kymaQueue) {
	for key := range sets.New(keys...) {
		var kymas v1beta2.KymaList
		if err := w.reader.List(ctx, &kymas, client.MatchingFields{desired.IndexKymaReferences: key}); err != nil {
			// Nothing is lost: the sweep computes every Kyma's digest.
			log.FromContext(ctx).Error(err, "list the Kymas that a catalog change concerns", logkey.Kind, c.Kind, logkey.Namespace, c.Namespace, logkey.Name, c.Name)
			continue
		}
		for i := range kymas.Items {
			q.Add(kymaRequest{Ref: kick.RefOf(&kymas.Items[i]), Cause: c})
		}
	}
}
