package v1beta2

import (
	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// EffectiveChannel returns the default channel of the Kyma's modules:
// spec.channel, or shared.DefaultChannel if spec.channel is empty.
func (s *KymaSpec) EffectiveChannel() string {
	if s.Channel == "" {
		return shared.DefaultChannel
	}
	return s.Channel
}

// EffectiveChannel returns the module's channel, or kymaChannel if the module
// names none. It returns "" for a module with a pinned version, because no
// channel decides its version.
func (m *Module) EffectiveChannel(kymaChannel string) string {
	switch {
	case m.Version != "":
		return ""
	case m.Channel != "":
		return m.Channel
	default:
		return kymaChannel
	}
}

// IsManaged reports whether Lifecycle Manager maintains the module.
func (m *Module) IsManaged() bool {
	return m.Managed == nil || *m.Managed
}

// EffectivePolicy returns the module's custom resource policy. The default is
// CustomResourcePolicyCreateAndDelete.
func (m *Module) EffectivePolicy() CustomResourcePolicy {
	if m.CustomResourcePolicy == "" {
		return CustomResourcePolicyCreateAndDelete
	}
	return m.CustomResourcePolicy
}

// IsSkipReconciliation reports whether the Kyma must not be reconciled. A
// deletion continues regardless, so check the deletion timestamp first.
func (k *Kyma) IsSkipReconciliation() bool {
	return k.Labels[shared.LabelSkipReconciliation] == shared.ValueTrue
}

// IsMarkedUnreachable reports whether the last reconcile could not reach the
// Kyma's cluster.
func (k *Kyma) IsMarkedUnreachable() bool {
	remote := k.Status.Remote
	return remote != nil && remote.Reachable != nil && !*remote.Reachable
}

// IsInternal reports whether the Kyma may have internal modules.
func (k *Kyma) IsInternal() bool {
	return k.Labels[shared.LabelInternal] == shared.ValueTrue
}

// IsBeta reports whether the Kyma may have beta modules.
func (k *Kyma) IsBeta() bool {
	return k.Labels[shared.LabelBeta] == shared.ValueTrue
}

// RuntimeID returns the id of the Kyma's runtime, or "". The certificate of the
// runtime's agent has the same id as its common name.
func (k *Kyma) RuntimeID() string { return k.Labels[shared.LabelRuntimeID] }

// GlobalAccountID returns the global account of the runtime, or "".
func (k *Kyma) GlobalAccountID() string { return k.Labels[shared.LabelGlobalAccountID] }

// SubAccountID returns the subaccount of the runtime, or "".
func (k *Kyma) SubAccountID() string { return k.Labels[shared.LabelSubAccountID] }

// Region returns the region of the runtime, or "".
func (k *Kyma) Region() string { return k.Labels[shared.LabelRegion] }

// PlatformRegion returns the platform region of the runtime, or "".
func (k *Kyma) PlatformRegion() string { return k.Labels[shared.LabelPlatformRegion] }

// BrokerPlanName returns the service plan of the runtime, or "".
func (k *Kyma) BrokerPlanName() string { return k.Labels[shared.LabelBrokerPlanName] }

// InstanceID returns the id of the runtime's service instance, or "".
func (k *Kyma) InstanceID() string { return k.Labels[shared.LabelInstanceID] }

// SKRDomain returns the domain of the remote cluster, or "".
func (k *Kyma) SKRDomain() string { return k.Annotations[shared.AnnotationSKRDomain] }

// AwaitsUpgrade reports whether the module's status promises a version that its
// Manifest does not have yet. This happens if an input, for example the
// maintenance policy, changes after a reconcile has written the Manifests and
// before it reports. Only another reconcile then brings the version.
func (m *ModuleStatus) AwaitsUpgrade(manifest *Manifest) bool {
	return m.Manifest != nil && m.Manifest.Metadata.Name == manifest.Name &&
		m.State == shared.StateProcessing && m.Version != manifest.Spec.Version
}
