package routing

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
)

// status returns the status that a plan gives a Watcher.
func (p Plan) status(w *v1beta2.Watcher, now metav1.Time) v1beta2.WatcherStatus {
	next := *w.Status.DeepCopy()
	next.State, next.ObservedGeneration = p.State, w.Generation
	condition := metav1.Condition{
		Type: string(shared.ConditionVirtualService), Status: metav1.ConditionTrue, Reason: shared.ReasonReady,
		Message: fault.Message(p.Message), ObservedGeneration: w.Generation, LastTransitionTime: now,
	}
	if p.State != shared.StateReady {
		condition.Status = metav1.ConditionFalse
	}
	if todo := hint.For(p.Problem); p.Problem != "" && todo != "" {
		condition.Message = fault.Message(p.Message + ": " + todo)
	}
	meta.SetStatusCondition(&next.Conditions, condition)
	return next
}

// isShown reports whether a Watcher's status already matches the plan.
func (p Plan) isShown(w *v1beta2.Watcher) bool {
	return equality.Semantic.DeepEqual(w.Status, p.status(w, metav1.Time{}))
}

// report writes the status that follows from a plan, and records changes as an Event.
func (a *Activities) report(ctx context.Context, w *v1beta2.Watcher, p Plan) error {
	before := w.DeepCopy()
	w.Status = p.status(w, metav1.NewTime(a.options.Clock()))
	if equality.Semantic.DeepEqual(before.Status, w.Status) {
		return nil
	}
	after := w.Status
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	err := a.options.ControlPlane.Status().Patch(ctx, w, patch, client.FieldOwner(shared.FieldManagerLifecycleManager))
	switch {
	case apierrors.IsNotFound(err):
		return nil // the Watcher is gone, so nobody reads its status
	case apierrors.IsConflict(err):
		return fault.New(fault.Transient, clusters.ReasonConflict, "write the status of Watcher %s/%s: %w", w.Namespace, w.Name, err)
	case err != nil:
		return fmt.Errorf("write the status of Watcher %s/%s: %w", w.Namespace, w.Name, err)
	}
	a.record(w, before.Status, after, p)
	return nil
}

// record records an Event about a change of the status. Events are for people and may get lost.
func (a *Activities) record(w *v1beta2.Watcher, before, after v1beta2.WatcherStatus, p Plan) {
	if a.options.Events == nil {
		return
	}
	was := meta.FindStatusCondition(before.Conditions, string(shared.ConditionVirtualService))
	is := meta.FindStatusCondition(after.Conditions, string(shared.ConditionVirtualService))
	switch {
	case p.Problem != "" && (was == nil || was.Message != is.Message || was.Status != is.Status):
		hint.Record(a.options.Events, w, corev1.EventTypeWarning, p.Problem, p.Message, hint.For(p.Problem))
	case p.State == shared.StateReady && before.State != shared.StateReady:
		hint.Record(a.options.Events, w, corev1.EventTypeNormal, EventReady, p.Message, "")
	}
}
