package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/events/certificates"
	"github.com/kyma-project/lifecycle-manager/test/agenttest"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/upstream"
)

// A cluster has upstream's agent, with a certificate of upstream's authority. It becomes ours in place, with nothing of
// upstream's left but its authority, which agents elsewhere still have certificates of; and it reports.
func TestUpstreamsAgentIsTakenOverInPlace(t *testing.T) {
	authority := agenttest.NewAuthority(t, "upstream")
	before := authority.Secret(runtimeID, "skr-webhook.kyma-system.svc")
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: harness.RemoteNamespace, Name: shared.AgentName}}
	w := newWatchedAfter(t, func(s *watched) {
		s.EnsureNamespace(s.Remote, harness.RemoteNamespace)
		require.NoError(t, upstream.InstallAgent(t.Context(), s.Remote, before, authority.PEM))
		require.NoError(t, s.Remote.Get(t.Context(), client.ObjectKeyFromObject(deployment), deployment))
		require.NoError(t, s.ControlPlane.Create(t.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: istioNamespace, Name: certificates.UpstreamAuthoritySecret},
			Data:       map[string][]byte{shared.CertificateKey: authority.PEM, shared.CertificateAuthorityKey: authority.PEM},
		}))
	}, "--skr-watcher-restart-on-renewal")

	require.Len(t, w.trusted(t), 2, "upstream's authority and ours")
	require.NotEqual(t, before[shared.CertificateKey], w.certificate(t, w.Remote, harness.RemoteNamespace, shared.AgentSecret).Data[shared.CertificateKey])
	require.ElementsMatch(t, []string{"kcp-system.kymas.operator.kyma-project.io", "kcp-system.samples.operator.kyma-project.io"}, w.webhooks(t))
	uid := deployment.UID
	w.Eventually("the pods are started for their certificate", time.Minute, func(c *assert.CollectT) {
		require.NoError(c, w.Remote.Get(t.Context(), client.ObjectKeyFromObject(deployment), deployment))
		assert.Len(c, deployment.Spec.Template.Labels["operator.kyma-project.io/pod-restart-trigger"], 32)
	})
	w.agent.BecomesReady(time.Minute) // again, with the label
	require.Equal(t, uid, deployment.UID)
	pod := deployment.Spec.Template.Spec
	require.Equal(t, "default", pod.ServiceAccountName)
	require.Len(t, pod.Containers, 1, "without upstream's sidecar")
	require.NotContains(t, pod.Containers[0].Env, corev1.EnvVar{Name: "TLS_CALLBACK", Value: "true"})
	priority := &schedulingv1.PriorityClass{}
	require.NoError(t, w.Remote.Get(t.Context(), client.ObjectKey{Name: shared.AgentPriorityClass}, priority))
	require.NotEqual(t, "upstream's", priority.Description)
	for _, left := range []client.Object{
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: harness.RemoteNamespace, Name: "skr-webhook-sa"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: harness.RemoteNamespace, Name: "skr-webhook-config"}},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "kyma-reader"}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "read-kymas"}},
	} {
		require.True(t, apierrors.IsNotFound(w.Remote.Get(t.Context(), client.ObjectKeyFromObject(left), left)), left.GetName())
	}
	w.becomesActedOn("sample")
}
