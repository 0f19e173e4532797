package v1beta2

import (
	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// KymaName returns the name of the Kyma that the Manifest belongs to, or "".
func (m *Manifest) KymaName() string { return m.Labels[shared.LabelKymaName] }

// ModuleName returns the name of the Manifest's module, or "".
func (m *Manifest) ModuleName() string { return m.Labels[shared.LabelModuleName] }

// ComponentName returns the name of the OCM component of the Manifest's module, or "". Manifests of the older
// generation store it in another annotation.
func (m *Manifest) ComponentName() string {
	if name := m.Annotations[shared.AnnotationOCMComponentName]; name != "" {
		return name
	}
	return m.Annotations[shared.AnnotationFQDN]
}

// IsSkipReconciliation reports whether the Manifest must not be reconciled. Lifecycle Manager removes such a Manifest
// only together with its Kyma.
func (m *Manifest) IsSkipReconciliation() bool {
	return m.Labels[shared.LabelSkipReconciliation] == shared.ValueTrue
}

// IsMandatory reports whether the Manifest's module is mandatory.
func (m *Manifest) IsMandatory() bool {
	return m.Labels[shared.LabelMandatoryModule] == shared.ValueTrue
}

// IsMaintained reports whether Lifecycle Manager installs and repairs the module: the Manifest is not being deleted, is
// managed, and is reconciled.
func (m *Manifest) IsMaintained() bool {
	return m.DeletionTimestamp.IsZero() && !m.IsSkipReconciliation() && !m.IsUnmanaged()
}

// IsUnmanaged reports whether the user has set the module to `managed: false`.
func (m *Manifest) IsUnmanaged() bool {
	return m.Annotations[shared.AnnotationIsUnmanaged] == shared.ValueTrue
}

// EffectivePolicy returns the Manifest's custom resource policy. The default is CustomResourcePolicyCreateAndDelete.
func (s *ManifestSpec) EffectivePolicy() CustomResourcePolicy {
	if s.CustomResourcePolicy == "" {
		return CustomResourcePolicyCreateAndDelete
	}
	return s.CustomResourcePolicy
}
