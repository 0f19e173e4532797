package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/events/certificates"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/test/agenttest"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/fleets"
	"github.com/kyma-project/lifecycle-manager/test/harness/process"
	"github.com/kyma-project/lifecycle-manager/watchers/listener"
)

// certificate reads a Secret with a certificate.
func (w *watched) certificate(c require.TestingT, in client.Reader, namespace, name string) *corev1.Secret {
	secret := &corev1.Secret{}
	require.NoError(c, in.Get(w.T.Context(), client.ObjectKey{Namespace: namespace, Name: name}, secret))
	return secret
}

// leaf is the certificate of the agent in the remote cluster.
func (w *watched) leaf(c require.TestingT) *x509.Certificate {
	secret := w.certificate(c, w.Remote, harness.RemoteNamespace, shared.AgentSecret)
	block, _ := pem.Decode(secret.Data[shared.CertificateKey])
	require.NotNil(c, block)
	leaf, err := x509.ParseCertificate(block.Bytes)
	require.NoError(c, err)
	return leaf
}

// revoke revokes the certificate of the agent in the remote cluster, and returns it.
func (w *watched) revoke(t *testing.T) *x509.Certificate {
	t.Helper()
	leaf := w.leaf(t)
	revoked := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, shared.AnnotationRevokedCertificates, leaf.SerialNumber.Text(16))
	require.NoError(t, w.ControlPlane.Patch(t.Context(), w.Kyma("watched"), client.RawPatch(types.MergePatchType, []byte(revoked))))
	return leaf
}

// annotate changes an annotation of a Secret in the namespace of certificates.
func (w *watched) annotate(name, key, value string) {
	w.T.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: istioNamespace, Name: name}}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value)
	require.NoError(w.T, w.ControlPlane.Patch(w.T.Context(), secret, client.RawPatch(types.MergePatchType, []byte(patch))))
}

// trusted are the authorities in the Secret of the listener.
func (w *watched) trusted(c require.TestingT) []string {
	var all []string
	rest := w.certificate(c, w.ControlPlane, istioNamespace, certificates.DefaultListenerSecret).Data[shared.CertificateAuthorityKey]
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return all
		}
		all = append(all, string(block.Bytes))
	}
}

// results are the events that the listener took or refused, by result, without those that are zero.
func (w *watched) results(t *testing.T) map[string]string {
	t.Helper()
	series, err := process.Series(w.metrics, "lifecycle_mgr_events_received_total")
	require.NoError(t, err)
	counted := map[string]string{}
	for labels, value := range series {
		if value != "0" {
			counted[labels] = value
		}
	}
	return counted
}

// post sends an event about a Kyma with a certificate, as an agent does, and returns the status of the answer.
func (w *watched) post(t *testing.T, pair tls.Certificate, about string) int {
	t.Helper()
	shown := w.certificate(t, w.ControlPlane, istioNamespace, certificates.DefaultListenerSecret)
	authorities := x509.NewCertPool()
	require.True(t, authorities.AppendCertsFromPEM(shown.Data[shared.CertificateAuthorityKey]))
	transport := &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: authorities, Certificates: []tls.Certificate{pair}}}
	defer transport.CloseIdleConnections()
	body := fmt.Sprintf(`{"watched":{"Namespace":"kcp-system","Name":%q},"watchedGvk":{"group":"operator.kyma-project.io","version":"v1beta2","kind":"Kyma"}}`, about)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+w.listener+shared.EventPath("lifecycle-manager"), strings.NewReader(body))
	require.NoError(t, err)
	answer, err := (&http.Client{Transport: transport}).Do(request)
	require.NoError(t, err)
	_ = answer.Body.Close()
	return answer.StatusCode
}

// A certificate is renewed, and an authority replaced, while events flow: no event is lost, no process is restarted, and
// who has somebody else's certificate speaks for nobody else.
func TestCertificatesAreRenewedAndAuthoritiesReplacedWhileEventsFlow(t *testing.T) {
	fleets.Idles(t)
	w := newWatched(t, "--istio-gateway-server-cert-switch-grace-period", "15s",
		"--self-signed-cert-duration", "10m", "--self-signed-cert-renew-before", "9m") // which is a minute after it is issued
	starts := w.agent.Starts()

	t.Run("a certificate that is about to expire is renewed", func(t *testing.T) {
		before := w.leaf(t)
		require.Equal(t, runtimeID, before.Subject.CommonName)
		require.Contains(t, before.DNSNames, "skr-webhook.kyma-system.svc")
		issued := w.certificate(t, w.ControlPlane, istioNamespace, desired.CertificateName("watched"))
		due, err := time.Parse(time.RFC3339, issued.Annotations[certificates.AnnotationRenewal])
		require.NoError(t, err)
		time.Sleep(time.Until(due))
		w.SweepShard(t, 0)
		w.Eventually("the remote cluster has another certificate", 2*time.Minute, func(c *assert.CollectT) {
			assert.NotEqual(c, before.SerialNumber, w.leaf(c).SerialNumber)
		})
		w.becomesActedOn("sample")
		require.Equal(t, starts, w.agent.Starts())
	})
	t.Run("an authority is replaced", func(t *testing.T) {
		first := w.trusted(t)
		require.Len(t, first, 1)
		ctx, stop := context.WithCancel(t.Context())
		var load sync.WaitGroup
		load.Go(func() {
			for number := 0; ctx.Err() == nil; number++ {
				remote := &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Namespace: harness.RemoteNamespace, Name: "default"}}
				patch := fmt.Sprintf(`{"spec":{"skipMaintenanceWindows":%t}}`, number%2 == 0)
				if err := w.Remote.Patch(ctx, remote, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil && ctx.Err() == nil {
					t.Errorf("edit the remote Kyma: %v", err)
				}
				time.Sleep(100 * time.Millisecond)
			}
		})
		w.annotate(certificates.AuthoritySecret, certificates.AnnotationRotate, "now")
		w.Eventually("nobody trusts the former authority any more", 5*time.Minute, func(c *assert.CollectT) {
			time.Sleep(2 * time.Second)
			_ = w.Temporal.SignalWorkflow(t.Context(), kick.CertificatesWorkflowID, "", kick.Signal, kick.Kick{Reason: "a test"})
			now := w.trusted(c)
			if assert.Len(c, now, 1) {
				assert.NotEqual(c, first, now)
			}
		})
		stop()
		load.Wait()
		became := func(result string) int { return w.counted(t, `watcher_events_total{result="`+result+`"}`) }
		w.Eventually("the agent has sent every event", time.Minute, func(c *assert.CollectT) {
			assert.GreaterOrEqual(c, became("sent"), became("queued"), "one that is merged while it is being sent is sent once more")
		})
		require.Zero(t, became("dropped"))
		require.Zero(t, became("refused"))
		taken := 0
		for _, count := range w.results(t) {
			number, err := strconv.Atoi(count)
			require.NoError(t, err)
			taken += number
		}
		require.GreaterOrEqual(t, taken, became("sent"), "the listener has taken what the agent has sent")
		for labels, count := range w.results(t) {
			require.True(t, strings.Contains(labels, "accepted") || strings.Contains(labels, "merged"), "%s: %s", labels, count)
		}
		require.Equal(t, starts, w.agent.Starts(), "nothing is restarted")
		w.becomesActedOn()
		w.agentBecomes(metav1.ConditionTrue)
	})
	t.Run("who has a certificate speaks for its own cluster alone", func(t *testing.T) {
		other := harness.NewKyma("other")
		other.Labels = map[string]string{shared.LabelRuntimeID: "runtime-of-other"}
		require.NoError(t, w.ControlPlane.Create(t.Context(), other))
		secret := w.certificate(t, w.ControlPlane, istioNamespace, desired.CertificateName("watched"))
		pair, err := tls.X509KeyPair(secret.Data[shared.CertificateKey], secret.Data[shared.PrivateKeyKey])
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, w.post(t, pair, "other"))
		require.Equal(t, http.StatusUnauthorized, w.post(t, agenttest.NewAuthority(t, "somebody").Pair(runtimeID), "other"))
		w.becomesActedOn("sample")
		signals := func(name string) string {
			return harness.Decoded(w.History(kick.KymaWorkflowID(kick.RefOf(w.Kyma(name)))))
		}
		require.Contains(t, signals("watched"), listener.ReasonKyma)
		require.NotContains(t, signals("other"), listener.ReasonKyma)
		w.ControlPlane.ForceDelete(other) // else it would wait two minutes for the access that it never had
	})
	t.Run("a certificate that is revoked is refused, and replaced", func(t *testing.T) {
		secret := w.certificate(t, w.Remote, harness.RemoteNamespace, shared.AgentSecret)
		pair, err := tls.X509KeyPair(secret.Data[shared.CertificateKey], secret.Data[shared.PrivateKeyKey])
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, w.post(t, pair, "watched"))
		before := w.revoke(t)
		w.Eventually("the remote cluster has another certificate", 2*time.Minute, func(c *assert.CollectT) {
			assert.NotEqual(c, before.SerialNumber, w.leaf(c).SerialNumber)
		})
		require.Equal(t, http.StatusUnauthorized, w.post(t, pair, "watched"))
		w.becomesActedOn()
	})
	continueAsNew(t, w.Environment, kick.CertificatesWorkflowID)
	w.AssertRuns("certificates", map[string]string{"certificates": kick.CertificatesWorkflowID})
}
