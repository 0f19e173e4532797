package desired

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// IsOrphaning tells whether a Kyma is deleted with `--cascade=orphan` and the garbage collector has not taken the owner
// references off its Manifests yet. They are to stay then, with all that they installed.
func IsOrphaning(kyma *v1beta2.Kyma) bool {
	return !kyma.DeletionTimestamp.IsZero() && slices.Contains(kyma.Finalizers, metav1.FinalizerOrphanDependents)
}

// IsOrphan tells whether a Manifest was orphaned by its Kyma, which was deleted with `--cascade=orphan`: nobody owns it, and
// its status, which nobody but us writes, says that it was worked on.
func IsOrphan(m *v1beta2.Manifest) bool {
	return metav1.GetControllerOf(m) == nil && (IsPlaced(m) || m.Status.DefaultCR != nil)
}
