package drift

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/kyma-project/lifecycle-manager/activities/manifests"
	"github.com/kyma-project/lifecycle-manager/activities/readiness"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// RecordCorrections tells of what a look put right, with one Event, and counts it. A dispute makes the module Warning, which
// its Kyma is told of as of any other.
func RecordCorrections(t *manifests.Recorder, m *v1beta2.Manifest, r *Repair) {
	if len(r.corrections) == 0 {
		return
	}
	t.CountDrift(len(r.corrections))
	t.Record(m, corev1.EventTypeNormal, manifests.EventDriftCorrected, fmt.Sprintf("%d of the module's objects put right: %s", len(r.corrections), r))
	made := r.Losses()
	for _, c := range m.Status.Corrections {
		if _, now := made[c.ID]; now && readiness.IsConflict(c) {
			t.Record(m, corev1.EventTypeWarning, manifests.EventFieldConflict, readiness.DescribeConflict(c))
		}
	}
}
