package removal

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
)

// recordDataBlocks records an Event with the users' custom resources that block the removal of a module, and the
// remedy.
func recordDataBlocks(recorder *manifests.Recorder, m *v1beta2.Manifest, seen BlockingCRs) {
	message := fmt.Sprintf("module %s is not removed: %s", m.ModuleName(), seen.Waiting().Hint)
	recorder.RecordOnce(m, corev1.EventTypeWarning, manifests.EventUserDataBlocks, message, m, manifests.KymaOf(m))
}

// recordDataDeleted records an Event with the users' custom resources that are deleted with a module.
func recordDataDeleted(recorder *manifests.Recorder, m *v1beta2.Manifest, seen BlockingCRs) {
	message := fmt.Sprintf("module %s: %s", m.ModuleName(), seen.Waiting().Hint)
	recorder.RecordOnce(m, corev1.EventTypeNormal, manifests.EventUserDataDeleted, message, manifests.KymaOf(m))
}
