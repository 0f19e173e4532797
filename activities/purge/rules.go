package purge

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// finalizerDefinition is the finalizer of a CustomResourceDefinition whose objects the API server still deletes.
const finalizerDefinition = "customresourcecleanup.apiextensions.k8s.io"

// Rules say which finalizers a purge removes. The zero value removes all but those of Kubernetes itself.
type Rules struct {
	// Never are finalizers that are never removed (`--skip-finalizer-purging-for`).
	Never []string
}

// Split divides the finalizers of an object into those that a purge removes and those that stay. Those of Kubernetes
// itself stay: its controllers run, and without them objects would be left in etcd that nobody can reach.
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

// Protected returns those of the finalizers that are never removed, as configured for this instance.
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
