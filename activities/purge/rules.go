// Package purge holds what every forced deletion has in common: which finalizers may be taken off, how each forced
// object is told to people and counted, and how the workflows of Manifests are asked to purge (docs/design/deletion-and-purge.md#the-purge).
package purge

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// finalizerDefinition is that of a CustomResourceDefinition whose objects the API server still deletes.
const finalizerDefinition = "customresourcecleanup.apiextensions.k8s.io"

// Rules say which finalizers a purge takes off. The zero value takes off all but those that Kubernetes itself serves.
type Rules struct {
	// Never are finalizers that are never taken off (`--skip-finalizer-purging-for`).
	Never []string
}

// Split sorts the finalizers of an object into those that a purge takes off and those that stay. What Kubernetes
// itself serves stays: its controllers run, and without them objects would be left in etcd that nobody can reach.
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

// Protected are those of the finalizers that an operator of this instance wants never to be taken off.
func (r Rules) Protected(finalizers []string) []string {
	var all []string
	for _, finalizer := range finalizers {
		if slices.Contains(r.Never, finalizer) {
			all = append(all, finalizer)
		}
	}
	return all
}

func isKubernetes(finalizer string) bool {
	switch finalizer {
	case metav1.FinalizerDeleteDependents, metav1.FinalizerOrphanDependents, finalizerDefinition:
		return true
	}
	return false
}
