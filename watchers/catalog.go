package watchers

import (
	"context"

	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/logkey"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// catalogSources watch ModuleTemplates and ModuleReleaseMetas and ask to reconcile the Kymas whose modules
// could resolve to them, found by an index. What is listed at start is omitted: each Kyma's own digest
// covers it.
func (w *watcher) catalogSources(mgr manager.Manager) []source.TypedSource[kymaRequest] {
	return []source.TypedSource[kymaRequest]{
		source.TypedKind(mgr.GetCache(), &v1beta2.ModuleTemplate{},
			catalogHandler(w, "ModuleTemplate", w.keysOfTemplate)),
		source.TypedKind(mgr.GetCache(), &v1beta2.ModuleReleaseMeta{},
			catalogHandler(w, "ModuleReleaseMeta", func(_ context.Context, meta *v1beta2.ModuleReleaseMeta) []string {
				return desired.KeysOfReleaseMeta(meta)
			})),
		source.TypedKind(mgr.GetCache(), &v1beta2.ModuleRollout{}, w.releases()),
	}
}

// keysOfTemplate are the keys of a template; one of a mandatory module concerns every Kyma, also where only the
// release meta says that it is mandatory.
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
	return handler.TypedFuncs[T, kymaRequest]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[T], q kymaQueue) {
			if !e.IsInInitialList {
				w.enqueueReferrers(ctx, causeOf(kind, e.Object), keys(ctx, e.Object), q)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[T], q kymaQueue) {
			if w.changed(e.ObjectOld, e.ObjectNew) {
				concerned := append(keys(ctx, e.ObjectOld), keys(ctx, e.ObjectNew)...)
				w.enqueueReferrers(ctx, causeOf(kind, e.ObjectNew), concerned, q)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[T], q kymaQueue) {
			w.enqueueReferrers(ctx, causeOf(kind, e.Object), keys(ctx, e.Object), q)
		},
	}
}

// enqueueReferrers asks to reconcile every Kyma that refers to one of the keys.
func (w *watcher) enqueueReferrers(ctx context.Context, c cause, keys []string, q kymaQueue) {
	for key := range sets.New(keys...) {
		var kymas v1beta2.KymaList
		if err := w.reader.List(ctx, &kymas, client.MatchingFields{desired.IndexKymaReferences: key}); err != nil {
			// Nothing is lost: the sweep computes every Kyma's digest.
			log.FromContext(ctx).Error(err, "list the Kymas that a change of the catalog concerns", logkey.Kind, c.Kind, logkey.Namespace, c.Namespace, logkey.Name, c.Name)
			continue
		}
		for i := range kymas.Items {
			q.Add(kymaRequest{Ref: kick.RefOf(&kymas.Items[i]), Cause: c})
		}
	}
}
