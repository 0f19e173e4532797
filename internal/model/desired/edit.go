package desired

import (
	"fmt"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// RemoteDecides reports whether the remote Kyma alone decides about channel and modules. Then channel and modules of
// the control plane's Kyma have no effect (docs/contract.md#the-remote-kyma).
func RemoteDecides(kyma *v1beta2.Kyma, sync Sync) bool {
	return sync.Enabled && sync.Generation == v1beta2.SyncGenerationDefault && IsAccepted(kyma)
}

// KymaSpecDigest returns a digest of the channel and modules in a Kyma's own spec.
func KymaSpecDigest(kyma *v1beta2.Kyma) string {
	return DigestOf(kyma.Spec.EffectiveChannel(), append([]v1beta2.Module{}, kyma.Spec.Modules...))
}

// EditIgnored reports whether an edit in the control plane has no effect: the channel or modules of the control plane's
// Kyma were edited after the remote Kyma began to decide, and they differ from those of the remote Kyma.
func EditIgnored(kyma *v1beta2.Kyma, sync Sync) bool {
	if !RemoteDecides(kyma, sync) {
		return false
	}
	remote := kyma.Status.Remote
	if remote.ControlPlaneSpecDigest == "" || remote.ControlPlaneSpecDigest == KymaSpecDigest(kyma) {
		return false
	}
	there := &v1beta2.Kyma{Spec: v1beta2.KymaSpec{Channel: remote.Channel, Modules: remote.Modules}}
	return KymaSpecDigest(kyma) != KymaSpecDigest(there)
}

// EditIgnoredMessage says that an edit has no effect.
func EditIgnoredMessage(sync Sync) string {
	return fmt.Sprintf("spec.channel and spec.modules have no effect here: the Kyma %s/%s in the remote cluster decides (spec.sync is unset)",
		sync.Namespace, sync.Name)
}

// EditIgnoredHint says what to do instead of an edit that has no effect.
func EditIgnoredHint(sync Sync) string {
	return fmt.Sprintf("edit the Kyma %s/%s in the remote cluster, or set spec.sync so that both Kymas count", sync.Namespace, sync.Name)
}
