package removal

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/kyma-project/lifecycle-manager/activities/manifests"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// recordDataBlocks tells which custom resources of users block the removal of a module, and the way out.
func recordDataBlocks(t *manifests.Recorder, m *v1beta2.Manifest, seen blockingCRs) {
	message := fmt.Sprintf("module %s is not removed: %s", m.ModuleName(), seen.Waiting().Hint)
	if t.RecordedLately(string(m.UID) + message) {
		return
	}
	t.Record(m, corev1.EventTypeWarning, manifests.EventUserDataBlocks, message)
	t.Record(manifests.KymaOf(m), corev1.EventTypeWarning, manifests.EventUserDataBlocks, message)
}

// recordDataDeleted tells which custom resources of users are deleted with a module.
func recordDataDeleted(t *manifests.Recorder, m *v1beta2.Manifest, seen blockingCRs) {
	message := fmt.Sprintf("module %s: %s", m.ModuleName(), seen.Waiting().Hint)
	if !t.RecordedLately(string(m.UID) + message) {
		t.Record(manifests.KymaOf(m), corev1.EventTypeNormal, manifests.EventUserDataDeleted, message)
	}
}
