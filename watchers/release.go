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

// releases ask to reconcile the Kymas to which a rollout has just released its version, or from which it takes it back. What
// is listed at start is omitted: each Kyma's own digest covers it.
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
			// Those to which it had not released its version may get it now, and the others may not.
			// Nothing else spreads that.
			w.enqueueConcerned(ctx, e.Object, false, func(staged.Cluster) bool { return true }, q)
		},
	}
}

// enqueueReleased asks for the Kymas whose place was released or taken back. The first rollout of a channel, which is for the
// version that the channel has already, has no stages: it releases all clusters in one step, so its release is spread.
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
		log.FromContext(ctx).Error(err, "find the Kymas of a rollout", logkey.Namespace, r.Namespace, logkey.Name, r.Name)
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
