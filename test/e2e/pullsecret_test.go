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
)

// The Secret with which remote clusters pull images is kept there as it is in the control plane, as long as the Kyma
// is.
func TestTheImagePullSecretIsKeptInTheRemoteCluster(t *testing.T) {
	s := newStage(t, "--skr-image-pull-secret", "pull-images")
	original := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "pull-images", Namespace: controlPlaneNamespace, Labels: map[string]string{"ours": "alone"}},
		Type:       corev1.SecretTypeDockerConfigJson,
		Data:       pullData("first"),
	}
	s.instance.start()
	s.create(newSynced("pulling"))

	t.Run("without it, the Kyma says what is missing", func(t *testing.T) {
		s.pullSecretIs(metav1.ConditionFalse)
	})
	require.NoError(t, s.controlPlane.Create(t.Context(), original))
	t.Cleanup(func() { _ = s.controlPlane.Delete(context.Background(), original) })
	t.Run("it is brought when it appears", func(t *testing.T) {
		s.pullSecretBecomes("first")
		s.pullSecretIs(metav1.ConditionTrue)
		copied, err := s.pullSecret()
		require.NoError(t, err)
		require.Equal(t, corev1.SecretTypeDockerConfigJson, copied.Type)
		require.NotContains(t, copied.Labels, "ours")
		s.becomesReady("pulling")
	})
	t.Run("a rotation reaches the remote cluster", func(t *testing.T) {
		editObject(t, s.controlPlane, original, func() { original.Data = pullData("second") })
		s.pullSecretBecomes("second")
	})
	t.Run("an edit in the remote cluster is reverted", func(t *testing.T) {
		copied, err := s.pullSecret()
		require.NoError(t, err)
		editObject(t, s.remote, copied, func() { copied.Data = pullData("foreign") })
		s.pullSecretBecomes("second")
	})
	t.Run("deleted there, it comes back", func(t *testing.T) {
		copied, err := s.pullSecret()
		require.NoError(t, err)
		require.NoError(t, s.remote.Delete(t.Context(), copied))
		s.pullSecretBecomes("second")
		s.pullSecretIs(metav1.ConditionTrue)
	})
	t.Run("gone in the control plane, it stays where it is needed", func(t *testing.T) {
		require.NoError(t, s.controlPlane.Delete(t.Context(), original))
		s.sweeps(t, 1)
		s.pullSecretBecomes("second")
	})
	t.Run("it goes with the Kyma", func(t *testing.T) {
		s.removeKyma("pulling")
		_, err := s.pullSecret()
		require.True(t, apierrors.IsNotFound(err), err)
	})
}

func pullData(password string) map[string][]byte {
	return map[string][]byte{corev1.DockerConfigJsonKey: fmt.Appendf(nil, `{"auths":{"registry.example.com":{"password":%q}}}`, password)}
}

// pullSecret reads the copy of the image pull Secret of the Kyma "pulling".
func (s *stage) pullSecret() (*corev1.Secret, error) {
	s.t.Helper()
	found := &corev1.Secret{}
	return found, s.remote.Get(ctx(s.t), client.ObjectKey{Namespace: "pulling", Name: "pull-images"}, found)
}

func (s *stage) pullSecretBecomes(password string) {
	s.t.Helper()
	s.eventually("the image pull Secret in the remote cluster has the password "+password, 2*time.Minute, func(c *assert.CollectT) {
		found, err := s.pullSecret()
		if assert.NoError(c, err) {
			assert.Equal(c, pullData(password), found.Data)
		}
	})
}

func (s *stage) pullSecretIs(status metav1.ConditionStatus) {
	s.t.Helper()
	s.eventually("the condition of the image pull Secret is "+string(status), 2*time.Minute, func(c *assert.CollectT) {
		conditions := s.kyma("pulling").Status.Conditions
		assert.True(c, meta.IsStatusConditionPresentAndEqual(conditions, string(shared.ConditionSKRImagePullSecretSync), status), "%+v", conditions)
	})
}
