package lifecycle

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
)

func TestImagesAndPullSecretOfAManifestReachItsPods(t *testing.T) {
	s := newEnvironment(t, operatorYAML, nil)
	s.installReady()
	pods := func() corev1.PodSpec {
		deployment := &appsv1.Deployment{}
		require.NoError(t, s.remote.Get(context.Background(), types.NamespacedName{Namespace: s.id + "-remote", Name: "operator"}, deployment))
		return deployment.Spec.Template.Spec
	}
	s.update(func(m *v1beta2.Manifest) {
		m.Annotations = map[string]string{desired.AnnotationImagePullSecret: "regcred"}
		m.Spec.LocalizedImages = []string{"local.example.com/copies/operator:1.0.0"}
	})
	require.NotEqual(t, s.read().Status.InputsDigest, manifests.InputsDigest(s.cached()), "it is reconciled again")
	s.installReady()
	require.Equal(t, []corev1.LocalObjectReference{{Name: "regcred"}}, pods().ImagePullSecrets)
	require.Equal(t, "local.example.com/copies/operator:1.0.0", pods().Containers[0].Image)
	require.Equal(t, []corev1.EnvVar{{Name: "SKR_IMG_PULL_SECRET", Value: "regcred"}}, pods().Containers[0].Env)
	differs, _ := s.probe()
	require.False(t, differs)

	s.update(func(m *v1beta2.Manifest) { m.Annotations = nil })
	require.NotEqual(t, s.read().Status.InputsDigest, manifests.InputsDigest(s.cached()))
	s.installReady()
	require.Empty(t, pods().ImagePullSecrets)
	require.Empty(t, pods().Containers[0].Env)
	_, corrected := s.recorded.take()
	require.Zero(t, corrected, "what the instance newly wants is no drift")
}
