package desired

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// IsOrphaning reports whether a Kyma is being deleted with `--cascade=orphan` and the garbage collector has not yet
// removed the owner references from its Manifests. The Manifests, and everything they installed, must stay.
func IsOrphaning(kyma *v1beta2.Kyma) bool {
	return !kyma.DeletionTimestamp.IsZero() && slices.Contains(kyma.Finalizers, metav1.FinalizerOrphanDependents)
}

// IsOrphan reports whether a Manifest was orphaned by its Kyma, which was deleted with `--cascade=orphan`: the Manifest
// has no owner, and its status, which only we write, shows that it was reconciled.
func IsOrphan(m *v1beta2.Manifest) bool {
	return metav1.GetControllerOf(m) == nil && (IsPlaced(m) || m.Status.DefaultCR != nil)
}
