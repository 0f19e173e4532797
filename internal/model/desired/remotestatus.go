package desired

import (
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// RemoteStatus returns the copy of a Kyma's status for its remote Kyma (docs/contract.md#the-remote-kyma). Templates
// refer to the remote catalog. Manifests, which do not exist there, and internal fields are left out. The result is
// deterministic, so that equal statuses compare equal.
func RemoteStatus(kyma *v1beta2.Kyma) v1beta2.KymaStatus {
	status := *kyma.Status.DeepCopy()
	status.InputsDigest, status.Planned = "", nil
	status.Remote = nil
	// The readers of the remote Kyma are the ones who decide, so they do not need this condition.
	meta.RemoveStatusCondition(&status.Conditions, string(shared.ConditionRemoteKymaDecides))
	remote := kyma.Status.Remote
	if remote == nil {
		return status
	}
	status.ObservedGeneration = remote.ObservedGeneration
	for i := range status.Conditions {
		status.Conditions[i].ObservedGeneration = remote.ObservedGeneration
	}
	for i := range status.Modules {
		status.Modules[i].Manifest = nil
		if template := status.Modules[i].Template; template != nil {
			template.Metadata.Namespace = remote.Namespace
		}
	}
	return status
}
