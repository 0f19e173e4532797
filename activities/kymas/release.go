package kymas

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/activities/lists"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// OtherFinalizers are the finalizers of a Kyma that are not ours to take off.
func OtherFinalizers(kyma metav1.Object) []string {
	return lists.Filter(kyma.GetFinalizers(), func(finalizer string) bool {
		// Earlier generations set a finalizer of its own for the purge.
		return finalizer != shared.FinalizerKyma && finalizer != shared.FinalizerPurge
	})
}

// Released tells whether a Kyma is being deleted and none of our finalizers holds it: what is left of it waits for
// others, and there is nothing to do for us.
func Released(kyma *v1beta2.Kyma) bool {
	return !kyma.DeletionTimestamp.IsZero() && len(OtherFinalizers(kyma)) == len(kyma.Finalizers)
}
