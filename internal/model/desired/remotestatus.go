package desired

import (
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// RemoteStatus is the copy of a Kyma's status that its remote Kyma shows (docs/contract.md#the-remote-kyma): templates
// are those of the remote catalog, Manifests are left out as they are not there, and what is only between
// us and the control plane is dropped. It is deterministic, so that equal statuses compare equal.
func RemoteStatus(kyma *v1beta2.Kyma) v1beta2.KymaStatus {
	status := *kyma.Status.DeepCopy()
	status.InputsDigest, status.Planned = "", nil
	status.Remote = nil
	// Whoever reads it there is the one who decides.
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
