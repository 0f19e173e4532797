package kymas

import (
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// OtherFinalizers are the finalizers of a Kyma that are not ours to take off.
func OtherFinalizers(kyma *v1beta2.Kyma) []string {
	var others []string
	for _, finalizer := range kyma.Finalizers {
		// Earlier generations set a finalizer of its own for the purge.
		if finalizer != shared.FinalizerKyma && finalizer != shared.FinalizerPurge {
			others = append(others, finalizer)
		}
	}
	return others
}

// Released tells whether a Kyma is being deleted and none of our finalizers holds it: what is left of it waits for
// others, and there is nothing to do for us.
func Released(kyma *v1beta2.Kyma) bool {
	return !kyma.DeletionTimestamp.IsZero() && len(OtherFinalizers(kyma)) == len(kyma.Finalizers)
}
