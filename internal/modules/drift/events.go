package drift

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
)

// RecordCorrections records the drift corrections of a reconcile in one Event and counts them. It also records an
// Event for each conflict. A conflict makes the module Warning, and its Kyma learns of that as of any other state.
func RecordCorrections(recorder *manifests.Recorder, m *v1beta2.Manifest, r *Repair) {
	if len(r.corrections) == 0 {
		return
	}
	recorder.CountDrift(len(r.corrections))
	recorder.Record(m, corev1.EventTypeNormal, manifests.EventDriftCorrected,
		fmt.Sprintf("%d of the module's objects corrected: %s", len(r.corrections), r))
	made := r.losses()
	for _, c := range m.Status.Corrections {
		if l, now := made[c.ID]; now && l.isGone() == readiness.IsGone(c) && readiness.IsConflict(c) {
			recorder.Record(m, corev1.EventTypeWarning, manifests.EventFieldConflict, readiness.DescribeConflict(c))
		}
	}
}
