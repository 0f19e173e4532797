package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/test/harness"
)

// The Secret with which remote clusters pull images is kept there as it is in the control plane, as long as the Kyma
// is.
func pullSecretIsKept(t *testing.T, s *harness.Environment) {
	t.Helper()
	s.Instance.Stop()
	s.Instance.Flags = []string{"--skr-image-pull-secret", "pull-images"}
	original := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "pull-images", Namespace: harness.ControlPlaneNamespace, Labels: map[string]string{"ours": "alone"}},
		Type:       corev1.SecretTypeDockerConfigJson,
		Data:       pullData("first"),
	}
	s.Instance.Start()
	s.Create(harness.NewSynced("pulling"))

	t.Run("without it, the Kyma says what is missing", func(t *testing.T) {
		pullSecretIs(s, metav1.ConditionFalse)
	})
	require.NoError(t, s.ControlPlane.Create(t.Context(), original))
	t.Cleanup(func() { _ = s.ControlPlane.Delete(context.Background(), original) })
	t.Run("it is brought when it appears", func(t *testing.T) {
		pullSecretBecomes(s, "first")
		pullSecretIs(s, metav1.ConditionTrue)
		copied, err := pullSecret(s)
		require.NoError(t, err)
		require.Equal(t, corev1.SecretTypeDockerConfigJson, copied.Type)
		require.NotContains(t, copied.Labels, "ours")
		s.BecomesReady("pulling")
	})
	t.Run("a rotation reaches the remote cluster", func(t *testing.T) {
		harness.EditObject(t, s.ControlPlane, original, func() { original.Data = pullData("second") })
		pullSecretBecomes(s, "second")
	})
	t.Run("an edit in the remote cluster is reverted", func(t *testing.T) {
		copied, err := pullSecret(s)
		require.NoError(t, err)
		harness.EditObject(t, s.Remote, copied, func() { copied.Data = pullData("foreign") })
		pullSecretBecomes(s, "second")
	})
	t.Run("deleted there, it comes back", func(t *testing.T) {
		copied, err := pullSecret(s)
		require.NoError(t, err)
		require.NoError(t, s.Remote.Delete(t.Context(), copied))
		pullSecretBecomes(s, "second")
		pullSecretIs(s, metav1.ConditionTrue)
	})
	t.Run("gone in the control plane, it stays where it is needed", func(t *testing.T) {
		require.NoError(t, s.ControlPlane.Delete(t.Context(), original))
		s.Sweeps(t, 1)
		pullSecretBecomes(s, "second")
	})
	t.Run("it goes with the Kyma", func(t *testing.T) {
		s.RemoveKyma("pulling")
		_, err := pullSecret(s)
		require.True(t, apierrors.IsNotFound(err), err)
	})
}

func pullData(password string) map[string][]byte {
	return map[string][]byte{corev1.DockerConfigJsonKey: fmt.Appendf(nil, `{"auths":{"registry.example.com":{"password":%q}}}`, password)}
}

// pullSecret reads the copy of the image pull Secret of the Kyma "pulling".
func pullSecret(s *harness.Environment) (*corev1.Secret, error) {
	s.T.Helper()
	found := &corev1.Secret{}
	return found, s.Remote.Get(s.T.Context(), client.ObjectKey{Namespace: "pulling", Name: "pull-images"}, found)
}

func pullSecretBecomes(s *harness.Environment, password string) {
	s.T.Helper()
	s.Eventually("the image pull Secret in the remote cluster has the password "+password, 2*time.Minute, func(c *assert.CollectT) {
		found, err := pullSecret(s)
		if assert.NoError(c, err) {
			assert.Equal(c, pullData(password), found.Data)
		}
	})
}

func pullSecretIs(s *harness.Environment, status metav1.ConditionStatus) {
	s.T.Helper()
	s.Eventually("the condition of the image pull Secret is "+string(status), 2*time.Minute, func(c *assert.CollectT) {
		conditions := s.Kyma("pulling").Status.Conditions
		assert.True(c, meta.IsStatusConditionPresentAndEqual(conditions, string(shared.ConditionSKRImagePullSecretSync), status), "%+v", conditions)
	})
}
