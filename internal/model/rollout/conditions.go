package rollout

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Conditions of a rollout, by the rules of kstatus: Reconciling while it progresses or waits, Stalled if it was held or
// did not complete. The reason is the phase.
const (
	ConditionReady       = "Ready"
	ConditionReconciling = "Reconciling"
	ConditionStalled     = "Stalled"
)

func (d *decider) setConditions() {
	stalled, ready := false, false
	switch d.status.Phase {
	case v1beta2.RolloutHeld, v1beta2.RolloutReverted, v1beta2.RolloutAborted:
		stalled = true
	case v1beta2.RolloutCompleted, v1beta2.RolloutSuperseded:
		ready = true
	case v1beta2.RolloutPending, v1beta2.RolloutProgressing, v1beta2.RolloutSoaking, v1beta2.RolloutAwaitingApproval, v1beta2.RolloutPaused, v1beta2.RolloutReverting:
	}
	message := "the rollout has ended"
	if d.status.WaitsFor != "" {
		message = "waits for " + d.status.WaitsFor
	}
	if d.status.Phase == v1beta2.RolloutHeld {
		message = d.status.WaitsFor
	}
	is := map[string]bool{ConditionReady: ready, ConditionReconciling: !ready && !stalled, ConditionStalled: stalled}
	for _, condition := range []string{ConditionReady, ConditionReconciling, ConditionStalled} {
		if !is[condition] && condition != ConditionReady {
			meta.RemoveStatusCondition(&d.status.Conditions, condition)
			continue
		}
		status := metav1.ConditionFalse
		if is[condition] {
			status = metav1.ConditionTrue
		}
		meta.SetStatusCondition(&d.status.Conditions, metav1.Condition{
			Type: condition, Status: status, Reason: string(cmp.Or(d.status.Phase, v1beta2.RolloutPending)), Message: message,
			ObservedGeneration: d.rollout.Generation, LastTransitionTime: d.now,
		})
	}
}
