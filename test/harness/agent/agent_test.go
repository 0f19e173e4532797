package agent_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/test/agenttest"
	"github.com/kyma-project/lifecycle-manager/test/harness/agent"
	"github.com/kyma-project/lifecycle-manager/test/harness/cluster"
	"github.com/kyma-project/lifecycle-manager/test/harness/fleets"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

const namespace = "kyma-system"

var labels = map[string]string{"app": "skr-webhook"}

// listen is a listener that keeps who reported what.
func listen(t *testing.T, ca *agenttest.Authority) (address string, events chan string) {
	t.Helper()
	events = make(chan string, 1000)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		events <- fmt.Sprintf("%s %s %s", r.URL.Path, r.TLS.PeerCertificates[0].Subject.CommonName, body)
	}))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{ca.Pair("listener")}, ClientCAs: ca.Pool(), ClientAuth: tls.RequireAndVerifyClientCert}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String(), events
}

// objects are those that the agent consists of, as far as they matter here.
func objects(ca *agenttest.Authority, listener string) (*corev1.Secret, *appsv1.Deployment, []client.Object) {
	meta := metav1.ObjectMeta{Name: "skr-webhook", Namespace: namespace}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "skr-webhook-tls", Namespace: namespace}, Data: ca.Secret("runtime-1", "skr-webhook.kyma-system.svc")}
	deployment := &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			Volumes: []corev1.Volume{{Name: "ssl", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "skr-webhook-tls"}}}},
			Containers: []corev1.Container{{
				Name: "server", Image: "agent", VolumeMounts: []corev1.VolumeMount{{Name: "ssl", MountPath: "/app/etc/ssl"}},
				Env: []corev1.EnvVar{
					{Name: "KCP_ADDR", Value: listener}, {Name: "KCP_CONTRACT", Value: "v2"}, {Name: "WEBHOOK_PORT", Value: "8443"},
					{Name: "TLS_CERT", Value: "/app/etc/ssl/tls.crt"}, {Name: "TLS_KEY", Value: "/app/etc/ssl/tls.key"}, {Name: "CA_CERT", Value: "/app/etc/ssl/ca.crt"},
				},
			}},
		}},
	}}
	service := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 443, TargetPort: intstr.FromInt32(8443)}}}}
	webhook := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "skr-webhook"}, Webhooks: []admissionregistrationv1.ValidatingWebhook{{
		Name: "kcp-system.test.operator.kyma-project.io", AdmissionReviewVersions: []string{"v1"}, SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone),
		FailurePolicy: ptr.To(admissionregistrationv1.Ignore), TimeoutSeconds: ptr.To[int32](5), ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"watched": "test"}},
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{"CREATE", "UPDATE", "DELETE"},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
		}},
		ClientConfig: admissionregistrationv1.WebhookClientConfig{CABundle: ca.PEM, Service: &admissionregistrationv1.ServiceReference{Namespace: namespace, Name: "skr-webhook", Path: ptr.To("/validate/test")}},
	}}}
	return secret, deployment, []client.Object{secret, service, deployment, webhook}
}

func TestTheAgentOfAClusterFollowsItsObjects(t *testing.T) {
	remote := cluster.Open(t, fleets.Cluster{Kubeconfig: testfleet.Require(t, "LM_TEST_REMOTE")})
	testfleet.NeedsRealRemote(t, "an API server that calls webhooks")
	ca := agenttest.NewAuthority(t, "ca")
	address, events := listen(t, ca)
	secret, deployment, all := objects(ca, address)
	require.NoError(t, client.IgnoreAlreadyExists(remote.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})))
	for _, each := range all {
		require.NoError(t, remote.Create(t.Context(), each))
		t.Cleanup(func() { require.NoError(t, client.IgnoreNotFound(remote.Delete(context.Background(), each))) })
	}
	a := agent.Follow(t, remote)
	a.BecomesReady(time.Minute)

	// The API server takes a moment to know of the webhook.
	watched := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "watched", Namespace: "default", Labels: map[string]string{"watched": "test"}}}
	require.NoError(t, remote.Create(t.Context(), watched))
	t.Cleanup(func() { require.NoError(t, client.IgnoreNotFound(remote.Delete(context.Background(), watched))) })
	changes := 0
	reported := func(by string) {
		t.Helper()
		require.Eventually(t, func() bool {
			changes++
			watched.Data = map[string]string{"changes": fmt.Sprint(changes)}
			require.NoError(t, remote.Update(t.Context(), watched))
			for {
				select {
				case event := <-events:
					if event == "/v2/test/event "+by+` {"watched":{"Namespace":"default","Name":"watched"},"watchedGvk":{"group":"","version":"v1","kind":"ConfigMap"}}` {
						return true
					}
				default:
					return false
				}
			}
		}, time.Minute, 200*time.Millisecond)
	}
	reported("runtime-1")

	secret.Data = ca.Secret("runtime-2", "skr-webhook.kyma-system.svc")
	require.NoError(t, remote.Update(t.Context(), secret))
	reported("runtime-2")
	require.Equal(t, 1, a.Starts(), "another certificate is no reason to start anew")

	a.Kill()
	watched.Data = map[string]string{"while": "killed"}
	require.NoError(t, remote.Update(t.Context(), watched), "nobody is blocked by an agent that is dead")
	a.Restart()
	a.BecomesReady(time.Minute)
	a.Pause()
	watched.Data = map[string]string{"while": "paused"}
	require.NoError(t, remote.Update(t.Context(), watched), "nor by one that hangs")
	a.Resume()
	reported("runtime-2")

	require.NoError(t, remote.Get(t.Context(), client.ObjectKeyFromObject(deployment), deployment))
	before := a.PID()
	deployment.Spec.Template.Spec.Containers[0].Env[1].Value = "v1"
	require.NoError(t, remote.Update(t.Context(), deployment))
	require.Eventually(t, func() bool { pid := a.PID(); return pid != 0 && pid != before }, time.Minute, 50*time.Millisecond)
	a.BecomesReady(time.Minute)
	require.Less(t, a.PeakMemory(), 30.0)

	require.NoError(t, remote.Delete(t.Context(), deployment))
	a.Ended(time.Minute)
}
