package watchers

import (
	"context"

	networkingv1 "istio.io/client-go/pkg/apis/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/kyma-project/lifecycle-manager/activities/routing"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// gatewayEvents handles the events of Gateways. Any Watcher may select any Gateway. The initial list is skipped,
// because the leader compares all Watchers when it starts.
func gatewayEvents() handler.TypedFuncs[*networkingv1.Gateway, watcherRequest] {
	changed := func(before, after client.Object) bool {
		return isEdited(before, after) || before.GetUID() != after.GetUID() || !equality.Semantic.DeepEqual(before.GetLabels(), after.GetLabels())
	}
	return newsOf(changed, func(_ context.Context, _, g *networkingv1.Gateway, q watcherQueue) {
		q.Add(watcherRequest{All: true, Cause: causeOf(routing.KindGateway, g)})
	})
}

// virtualServiceEvents handles the events of our VirtualServices. A VirtualService has the name of its Watcher.
func virtualServiceEvents() handler.TypedFuncs[*networkingv1.VirtualService, watcherRequest] {
	add := func(vs *networkingv1.VirtualService, q watcherQueue) {
		q.Add(watcherRequest{Ref: kick.Ref{Namespace: vs.Namespace, Name: vs.Name}})
	}
	return handler.TypedFuncs[*networkingv1.VirtualService, watcherRequest]{
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*networkingv1.VirtualService], q watcherQueue) {
			if e.ObjectOld.ResourceVersion != e.ObjectNew.ResourceVersion {
				add(e.ObjectNew, q)
			}
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[*networkingv1.VirtualService], q watcherQueue) {
			add(e.Object, q)
		},
	}
}
