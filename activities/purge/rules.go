package purge

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// finalizerDefinition is on a CustomResourceDefinition while the API server deletes its custom resources.
const finalizerDefinition = "customresourcecleanup.apiextensions.k8s.io"

// Rules decide which finalizers a purge removes. The zero value removes all finalizers except Kubernetes' own.
type Rules struct {
	// Never lists finalizers that are never removed (`--skip-finalizer-purging-for`).
	Never []string
}

// Split divides the finalizers of an object into those that a purge removes (off) and those that it keeps (stay).
// Kubernetes' own finalizers stay: their controllers are running, and removing them would leave unreachable objects in
// etcd.
func (r Rules) Split(finalizers []string) (off, stay []string) {
	for _, finalizer := range finalizers {
		if isKubernetes(finalizer) || slices.Contains(r.Never, finalizer) {
			stay = append(stay, finalizer)
		} else {
			off = append(off, finalizer)
		}
	}
	return off, stay
}

// Protected returns the finalizers in the list that this instance is configured never to remove.
func (r Rules) Protected(finalizers []string) []string {
	return lists.Filter(finalizers, func(finalizer string) bool { return slices.Contains(r.Never, finalizer) })
}

func isKubernetes(finalizer string) bool {
	switch finalizer {
	case metav1.FinalizerDeleteDependents, metav1.FinalizerOrphanDependents, finalizerDefinition:
		return true
	}
	return false
}
