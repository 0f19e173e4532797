package watchers

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kyma-project/lifecycle-manager/activities/advance"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	staged "github.com/kyma-project/lifecycle-manager/internal/model/rollout"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
)

// releases requests a reconcile of the Kymas to which a rollout has just released its version, or from which it takes
// the version back. The initial list is skipped, because the digest of each Kyma covers it.
func (w *watcher) releases() handler.TypedFuncs[*v1beta2.ModuleRollout, kymaRequest] {
	return handler.TypedFuncs[*v1beta2.ModuleRollout, kymaRequest]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[*v1beta2.ModuleRollout], q kymaQueue) {
			if !e.IsInInitialList {
				w.enqueueReleased(ctx, &v1beta2.ModuleRollout{Spec: e.Object.Spec}, e.Object, q)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[*v1beta2.ModuleRollout], q kymaQueue) {
			before, after := e.ObjectOld, e.ObjectNew
			if before.Status.Stage != after.Status.Stage || before.Status.Released != after.Status.Released {
				w.enqueueReleased(ctx, before, after, q)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[*v1beta2.ModuleRollout], q kymaQueue) {
			// Kymas that the rollout had not reached may get the version now, and the others may lose it. The deleted
			// rollout no longer paces this change, so it is spread.
			w.enqueueConcerned(ctx, e.Object, false, func(staged.Cluster) bool { return true }, q)
		},
	}
}

// enqueueReleased requests a reconcile of the Kymas whose place in the rollout was released or taken back. The first
// rollout of a channel is for the version that the channel already has. It has no stages and releases all clusters in
// one step, so that step is spread.
func (w *watcher) enqueueReleased(ctx context.Context, before, after *v1beta2.ModuleRollout, q kymaQueue) {
	was, is := staged.PlaceFunc(before), staged.PlaceFunc(after)
	w.enqueueConcerned(ctx, after, after.Spec.From != after.Spec.To, func(c staged.Cluster) bool {
		return staged.Released(before, was(c)) != staged.Released(after, is(c))
	}, q)
}

func (w *watcher) enqueueConcerned(ctx context.Context, r *v1beta2.ModuleRollout, paced bool, is func(staged.Cluster) bool, q kymaQueue) {
	kymas, err := advance.Concerned(ctx, w.reader, w.Settings, r)
	if err != nil {
		// Nothing is lost: the sweep computes every Kyma's digest.
		log.FromContext(ctx).Error(err, "list the Kymas of a rollout", logkey.Namespace, r.Namespace, logkey.Name, r.Name)
		return
	}
	why := causeOf(shared.KindModuleRollout, r)
	why.Paced = paced
	for _, kyma := range kymas {
		if is(staged.ClusterOf(kyma)) {
			q.Add(kymaRequest{Ref: kick.RefOf(kyma), Cause: why})
		}
	}
}
