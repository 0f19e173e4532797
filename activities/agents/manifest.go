package agents

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

const (
	// Component is what stands where a module has the name of its component.
	Component = "kyma-project.io/lifecycle-manager/agent"
	// builtIn is the registry of what needs none: the objects are those of this build.
	builtIn = "built-in"
)

// ManifestName is the name of the agent's Manifest of a Kyma of this name.
func ManifestName(kyma string) string { return shared.ManifestName(kyma, Component, shared.AgentName) }

// NewManifest is the Manifest that brings the agent of a Kyma into its remote cluster. It has all that a module's has that the
// installation knows of, and the wish in an annotation.
func NewManifest(kyma *v1beta2.Kyma, owner metav1.OwnerReference, settings desired.Settings, sync desired.Sync, wish Wish) *v1beta2.Manifest {
	m := &v1beta2.Manifest{
		TypeMeta: metav1.TypeMeta{APIVersion: v1beta2.GroupVersion.String(), Kind: shared.KindManifest},
		ObjectMeta: metav1.ObjectMeta{
			Name: ManifestName(kyma.Name), Namespace: kyma.Namespace, OwnerReferences: []metav1.OwnerReference{owner},
			Labels: map[string]string{
				shared.LabelKymaName:        kyma.Name,
				shared.LabelModuleName:      shared.AgentName,
				shared.LabelManagedBy:       settings.ManagedBy,
				shared.LabelMandatoryModule: shared.ValueTrue,
			},
			Annotations: map[string]string{
				shared.AnnotationFQDN:             Component,
				shared.AnnotationOCMComponentName: Component,
				desired.AnnotationRemoteNamespace: sync.Namespace,
				desired.AnnotationAgent:           wish.Encode(),
			},
		},
		Spec: v1beta2.ManifestSpec{
			CustomResourcePolicy: v1beta2.CustomResourcePolicyCreateAndDelete,
			Remote:               true,
			Version:              wish.ImageVersion(),
			Install: v1beta2.InstallInfo{Name: shared.AgentName, Source: v1beta2.ImageSpec{
				Type: v1beta2.ImageSourceOCIRef, Repo: builtIn, Name: Component, Ref: wish.Version(),
			}},
			Manager: &v1beta2.Manager{
				GroupVersionKind: v1beta2.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
				Name:             shared.AgentName, Namespace: sync.Namespace,
			},
		},
	}
	if sync.Strategy != v1beta2.SyncStrategyLocalSecret {
		m.Annotations[desired.AnnotationRemoteStrategy] = string(sync.Strategy)
	}
	if settings.ImagePullSecret != "" {
		m.Annotations[desired.AnnotationImagePullSecret] = settings.ImagePullSecret
	}
	m.Annotations[desired.AnnotationSpecDigest] = desired.SpecDigest(m.Spec)
	return m
}
