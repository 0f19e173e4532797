package readiness

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/reserved"
	"github.com/kyma-project/lifecycle-manager/internal/modules/bundle"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// DefaultCROf returns the default custom resource that we manage; nil if the policy leaves it to the user. The
// resource has our labels, a name, and no status.
func DefaultCROf(m *v1beta2.Manifest) (*unstructured.Unstructured, error) {
	if m.Spec.EffectivePolicy() != v1beta2.CustomResourcePolicyCreateAndDelete {
		return nil, nil //nolint:nilnil // no default custom resource is an ordinary case
	}
	cr, err := m.Spec.DefaultCR()
	if err != nil {
		return nil, fault.New(fault.Rejected, ReasonInvalidSpec, "Manifest %s/%s: spec.resource: %w", m.Namespace, m.Name, err)
	}
	if cr == nil {
		return nil, nil //nolint:nilnil // as above
	}
	if cr.GetName() == "" {
		cr.SetName(m.Name)
	}
	name := types.NamespacedName{Namespace: cr.GetNamespace(), Name: cr.GetName()}
	if why := reserved.Object(cr.GroupVersionKind().GroupKind(), name); why != "" {
		return nil, fault.New(fault.Rejected, ReasonDefaultCRInvalid,
			"%s %s cannot be the default custom resource: %s", cr.GetKind(), cr.GetName(), why)
	}
	namespace := cr.GetNamespace()
	bundle.Clean(cr)
	cr.SetNamespace(namespace)
	cr.SetLabels(labels.Merge(cr.GetLabels(), bundle.DefaultCRLabels()))
	return cr, nil
}

// RecreatesDefaultCR reports whether the default custom resource is created again after a user deleted it.
func RecreatesDefaultCR(m *v1beta2.Manifest) bool {
	return m.Annotations[shared.AnnotationRecreateDefaultCR] == shared.ValueTrue
}
