package lifecycle

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/activities/manifests"
	"github.com/kyma-project/lifecycle-manager/api/shared"
)

func TestARefusedModuleStaysInErrorWhileItIsRetried(t *testing.T) {
	immutable := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: fixed}\nimmutable: true\ndata: {a: "
	s := newEnvironment(t, configMap("fine")+immutable+"ours}\n", nil)
	fixed := true
	theirs := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "fixed", Namespace: s.id + "-remote"}, Immutable: &fixed, Data: map[string]string{"a": "theirs"},
	}
	require.NoError(t, s.remote.Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: theirs.Namespace}}))
	require.NoError(t, s.remote.Create(context.Background(), theirs))

	refused := s.apply()
	require.Equal(t, shared.StateError, refused.Observed.State)
	s.report(refused.Observed, false)
	before := s.read().Status
	s.kicks.take()

	again := s.apply()
	require.Equal(t, refused.Observed.Message, again.Observed.Message)
	require.Equal(t, shared.StateError, s.read().Status.State, "nothing new is known")
	require.Equal(t, before.LastOperation, s.read().Status.LastOperation)
	require.Empty(t, s.kicks.take(), "nobody's status flips")

	require.NoError(t, s.remote.Delete(context.Background(), theirs))
	through := s.apply()
	require.Equal(t, manifests.OutcomeApplied, through.Outcome)
	require.NotEqual(t, shared.StateError, s.read().Status.State, "it came through")
	require.NotEmpty(t, s.kicks.take())
}
