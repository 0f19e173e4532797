package v1beta2

import (
	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// EffectiveChannel returns the channel of all modules that name none
// themselves: the spec's, or shared.DefaultChannel where that is empty.
func (s *KymaSpec) EffectiveChannel() string {
	if s.Channel == "" {
		return shared.DefaultChannel
	}
	return s.Channel
}

// EffectiveChannel returns the module's channel, given that of its Kyma. For a
// module with a pinned version it is "": no channel decides about it.
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

// EffectivePolicy returns the module's custom resource policy, by default
// CustomResourcePolicyCreateAndDelete.
func (m *Module) EffectivePolicy() CustomResourcePolicy {
	if m.CustomResourcePolicy == "" {
		return CustomResourcePolicyCreateAndDelete
	}
	return m.CustomResourcePolicy
}

// IsSkipReconciliation reports whether the Kyma must not be reconciled. Its
// deletion goes on regardless: ask for the deletion timestamp first.
func (k *Kyma) IsSkipReconciliation() bool {
	return k.Labels[shared.LabelSkipReconciliation] == shared.ValueTrue
}

// IsMarkedUnreachable reports whether the last reconcile found that the Kyma's
// cluster cannot be reached.
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

// RuntimeID returns the id of the runtime that the Kyma describes, or "". It is
// also the common name in the certificate of the runtime's agent.
func (k *Kyma) RuntimeID() string { return k.Labels[shared.LabelRuntimeID] }

// GlobalAccountID returns the global account of the runtime, or "".
func (k *Kyma) GlobalAccountID() string { return k.Labels[shared.LabelGlobalAccountID] }

// SubAccountID returns the subaccount of the runtime, or "".
func (k *Kyma) SubAccountID() string { return k.Labels[shared.LabelSubAccountID] }

// Region returns the region of the runtime, or "".
func (k *Kyma) Region() string { return k.Labels[shared.LabelRegion] }

// PlatformRegion returns the platform region of the runtime, or "".
func (k *Kyma) PlatformRegion() string { return k.Labels[shared.LabelPlatformRegion] }

// BrokerPlanName returns the plan that the runtime was ordered by, or "".
func (k *Kyma) BrokerPlanName() string { return k.Labels[shared.LabelBrokerPlanName] }

// InstanceID returns the id of the service instance of the runtime, or "".
func (k *Kyma) InstanceID() string { return k.Labels[shared.LabelInstanceID] }

// SKRDomain returns the domain of the remote cluster, or "".
func (k *Kyma) SKRDomain() string { return k.Annotations[shared.AnnotationSKRDomain] }

// AwaitsUpgrade reports whether the module is on its way to a version that its
// Manifest does not have. Then what decides changed, such as the maintenance
// policy, after the reconcile that writes Manifests and before the report that
// follows it. Only another reconcile brings the version.
func (m *ModuleStatus) AwaitsUpgrade(manifest *Manifest) bool {
	return m.Manifest != nil && m.Manifest.Metadata.Name == manifest.Name &&
		m.State == shared.StateProcessing && m.Version != manifest.Spec.Version
}
