package status

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// EventEditIgnored: channel or modules were edited in the control plane's Kyma, but the remote Kyma decides.
const EventEditIgnored = shared.ReasonEditIgnored

// setEditIgnored keeps the condition that says that an edit of channel or modules has no effect. The condition is True,
// so that it does not make a Kyma less ready. It exists only while there is an ineffective edit. A remote Kyma that
// merely differs from the control plane's Kyma is the normal case.
func setEditIgnored(status *v1beta2.KymaStatus, o observation, deleting bool) {
	decides := desired.RemoteDecides(o.kyma, o.view.Sync)
	switch {
	case status.Remote == nil:
	case !decides:
		status.Remote.ControlPlaneSpecDigest = ""
	case status.Remote.ControlPlaneSpecDigest == "":
		status.Remote.ControlPlaneSpecDigest = desired.KymaSpecDigest(o.kyma)
	}
	if deleting || !desired.EditIgnored(o.kyma, o.view.Sync) {
		meta.RemoveStatusCondition(&status.Conditions, string(shared.ConditionRemoteKymaDecides))
		return
	}
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: string(shared.ConditionRemoteKymaDecides), Status: metav1.ConditionTrue, Reason: shared.ReasonEditIgnored,
		Message:            desired.EditIgnoredMessage(o.view.Sync),
		ObservedGeneration: o.kyma.Generation, LastTransitionTime: seconds(o.now),
	})
}

// editEvents returns an Event for each new edit without effect.
func editEvents(before, after v1beta2.KymaStatus, sync desired.Sync) []event {
	was := meta.FindStatusCondition(before.Conditions, string(shared.ConditionRemoteKymaDecides))
	is := meta.FindStatusCondition(after.Conditions, string(shared.ConditionRemoteKymaDecides))
	if is == nil || was != nil && was.ObservedGeneration == is.ObservedGeneration {
		return nil
	}
	return []event{{corev1.EventTypeWarning, EventEditIgnored, is.Message, desired.EditIgnoredHint(sync)}}
}
