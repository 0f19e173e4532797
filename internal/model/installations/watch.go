package installations

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Modules returns a source of events about the Manifests of modules.
func Modules[R comparable](c cache.Cache, h handler.TypedFuncs[*v1beta2.Manifest, R]) source.TypedSource[R] {
	return source.TypedKind(c, &v1beta2.Manifest{}, h, predicate.NewTypedPredicateFuncs(func(m *v1beta2.Manifest) bool {
		return !isFormer(m)
	}))
}

// Agents returns a source of events about RemoteAgents, as Manifests.
func Agents[R comparable](c cache.Cache, h handler.TypedFuncs[*v1beta2.Manifest, R]) source.TypedSource[R] {
	type queue = workqueue.TypedRateLimitingInterface[R]
	return source.TypedKind(c, &v1beta2.RemoteAgent{}, handler.TypedFuncs[*v1beta2.RemoteAgent, R]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[*v1beta2.RemoteAgent], q queue) {
			h.CreateFunc(ctx, event.TypedCreateEvent[*v1beta2.Manifest]{Object: (*v1beta2.Manifest)(e.Object), IsInInitialList: e.IsInInitialList}, q)
		},
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[*v1beta2.RemoteAgent], q queue) {
			h.UpdateFunc(ctx, event.TypedUpdateEvent[*v1beta2.Manifest]{ObjectOld: (*v1beta2.Manifest)(e.ObjectOld), ObjectNew: (*v1beta2.Manifest)(e.ObjectNew)}, q)
		},
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[*v1beta2.RemoteAgent], q queue) {
			h.DeleteFunc(ctx, event.TypedDeleteEvent[*v1beta2.Manifest]{Object: (*v1beta2.Manifest)(e.Object), DeleteStateUnknown: e.DeleteStateUnknown}, q)
		},
	}, predicate.NewTypedPredicateFuncs(func(a *v1beta2.RemoteAgent) bool { return shared.IsRemoteAgentName(a.Name) }))
}
