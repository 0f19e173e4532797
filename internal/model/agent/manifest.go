package agent

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// builtIn stands for the registry in the Manifest of an agent. The agent's objects are part of this build and come from
// no registry.
const builtIn = "built-in"

// NewManifest returns the Manifest that installs the agent of a Kyma in its remote cluster. It has all fields of a
// module's Manifest that the installation reads, and the spec in an annotation. In the control plane it is stored as a
// RemoteAgent (package installations).
func NewManifest(kyma *v1beta2.Kyma, owner metav1.OwnerReference, settings desired.Settings, sync desired.Sync, spec Spec) *v1beta2.Manifest {
	m := &v1beta2.Manifest{
		TypeMeta: metav1.TypeMeta{APIVersion: v1beta2.GroupVersion.String(), Kind: shared.KindManifest},
		ObjectMeta: metav1.ObjectMeta{
			Name: shared.RemoteAgentName(kyma.Name), Namespace: kyma.Namespace, OwnerReferences: []metav1.OwnerReference{owner},
			Labels: map[string]string{
				shared.LabelKymaName:   kyma.Name,
				shared.LabelModuleName: shared.AgentName,
				shared.LabelManagedBy:  settings.ManagedBy,
			},
			Annotations: map[string]string{
				shared.AnnotationFQDN:             shared.AgentComponent,
				shared.AnnotationOCMComponentName: shared.AgentComponent,
				desired.AnnotationRemoteNamespace: sync.Namespace,
				desired.AnnotationAgent:           spec.Encode(),
			},
		},
		Spec: v1beta2.ManifestSpec{
			CustomResourcePolicy: v1beta2.CustomResourcePolicyCreateAndDelete,
			Remote:               true,
			Version:              spec.ImageVersion(),
			Install: v1beta2.InstallInfo{Name: shared.AgentName, Source: v1beta2.ImageSpec{
				Type: v1beta2.ImageSourceOCIRef, Repo: builtIn, Name: shared.AgentComponent, Ref: spec.Version(),
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
