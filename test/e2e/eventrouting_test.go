package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	networkingapi "istio.io/api/networking/v1alpha3"
	networkingv1 "istio.io/client-go/pkg/apis/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/routing"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/events/certificates"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/agent"
	"github.com/kyma-project/lifecycle-manager/test/harness/certmanager"
	"github.com/kyma-project/lifecycle-manager/test/harness/cluster"
	"github.com/kyma-project/lifecycle-manager/test/harness/istio"
	"github.com/kyma-project/lifecycle-manager/test/harness/process"
)

// issuerName is that of cert-manager's Issuer.
const issuerName = "klm"

// gatewayNamespace has the Gateway: it is none of the instance's own.
const gatewayNamespace = "default"

// gateway ends TLS as a gateway of Istio does whose credentials are the listener's Secret: it checks the client's certificate,
// and says in a header what it was, in place of what the client says. It returns its port.
func (w *watched) gateway(t *testing.T) int {
	t.Helper()
	credentials := func(*tls.ClientHelloInfo) (*tls.Config, error) {
		secret := w.certificate(t, w.ControlPlane, istioNamespace, certificates.DefaultListenerSecret)
		pair, err := tls.X509KeyPair(secret.Data[shared.CertificateKey], secret.Data[shared.PrivateKeyKey])
		if err != nil {
			return nil, err
		}
		authorities := x509.NewCertPool()
		authorities.AppendCertsFromPEM(secret.Data[shared.CertificateAuthorityKey])
		return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, ClientCAs: authorities, ClientAuth: tls.RequireAndVerifyClientCert}, nil
	}
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: w.listener})
		shown := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.In.TLS.PeerCertificates[0].Raw})
		r.Out.Header.Set(shared.HeaderClientCertificate, `Hash=0;Cert="`+strings.ReplaceAll(url.QueryEscape(string(shown)), "+", "%20")+`";Subject="";URI=`)
	}}
	server := httptest.NewUnstartedServer(forward)
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: credentials}
	server.StartTLS()
	t.Cleanup(server.Close)
	at, ok := server.Listener.Addr().(*net.TCPAddr)
	require.True(t, ok)
	return at.Port
}

// Events come through gateways of Istio, with certificates that cert-manager issues, and then Gardener's certificate
// management: cert-manager's controllers are its own, Gardener's are a stand-in here, and so is the gateway. Watchers and workers are processes of their own.
func TestEventsComeThroughIstioWithCertificatesOfOthers(t *testing.T) {
	listener, metrics := process.FreeAddress(t), process.FreeAddress(t)
	through := []string{
		"--watcher-routing", "istio", "--listener-gateway-cidrs", "127.0.0.1/32", "--kyma-skr-listener-bind-address", listener,
		"--self-signed-cert-key-size", "2048", "--self-signed-cert-issuer-name", issuerName, "--resync-interval", "1h", "--sweep-shards", "1",
		"--istio-gateway-namespace", gatewayNamespace,
		"--istio-gateway-server-cert-switch-grace-period", "20s", // the other issuer has another authority
	}
	by := func(management, role string) []string {
		flags := append([]string{"--role", role, "--cert-management", management}, through...)
		if role == "watchers" {
			flags = append(flags, "--metrics-bind-address", metrics)
		}
		return flags
	}
	s := harness.NewEnvironment(t, by("cert-manager.io/v1", "watchers")...)
	s.SweepNever()
	workers := s.NewInstance(by("cert-manager.io/v1", "workers")...)
	t.Cleanup(func() {
		s.DeleteEverything() // which needs workers
		workers.Stop()
	})
	s.EnsureNamespace(s.ControlPlane, istioNamespace)
	w := &watched{Environment: s, listener: listener, metrics: metrics}
	t.Cleanup(w.removeWhatIsShared)
	istio.Install(t, s.ControlPlane)
	certmanager.Install(t, s.ControlPlane)
	certmanager.Run(t, s.ControlPlane, s.ControlPlane.Kubeconfig, types.NamespacedName{Namespace: istioNamespace, Name: issuerName})
	certmanager.Follow(t, s.ControlPlane, istioNamespace)
	routes := istioClient(t, s)

	watcher := w.watch("kymas", v1beta2.WatchedFieldSpec, v1beta2.WatchableGVR{Group: shared.OperatorGroup, Version: "*", Resource: "kymas"})
	harness.EditObject(t, s.ControlPlane, watcher, func() {
		watcher.Spec.Gateway.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"for": "events"}}
	})
	s.Push("test/modules/sample/1.0.0")
	s.Instance.Launch()
	workers.Start()
	t.Run("without a gateway, the Watcher says so", func(t *testing.T) {
		w.Eventually("the Watcher is in Error", time.Minute, func(c *assert.CollectT) {
			found := &v1beta2.Watcher{}
			require.NoError(c, s.ControlPlane.Get(t.Context(), client.ObjectKeyFromObject(watcher), found))
			assert.Equal(c, shared.StateError, found.Status.State)
		})
		w.Warns(watcher, "WatcherGatewayNotFound", "")
	})
	gateway := &networkingv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Namespace: gatewayNamespace, Name: "klm-watcher", Labels: map[string]string{"for": "events"}},
		Spec: networkingapi.Gateway{Servers: []*networkingapi.Server{{
			Hosts: []string{"localhost"}, Port: &networkingapi.Port{Number: uint32(w.gateway(t)), Name: "https", Protocol: "HTTPS"}, //nolint:gosec // a port
		}}},
	}
	require.NoError(t, routes.Create(t.Context(), gateway))
	t.Cleanup(func() { _ = routes.Delete(t.Context(), gateway) })
	route := &networkingv1.VirtualService{}
	at := client.ObjectKeyFromObject(watcher)
	routed := func(hosts ...string) {
		t.Helper()
		w.Eventually("the VirtualService has the hosts of the gateways", time.Minute, func(c *assert.CollectT) {
			require.NoError(c, routes.Get(t.Context(), at, route))
			assert.Equal(c, hosts, route.Spec.GetHosts())
		})
	}
	t.Run("it is routed by the gateway, whatever is changed", func(t *testing.T) {
		routed("localhost")
		harness.EditObject(t, routes, gateway, func() { gateway.Spec.Servers[0].Hosts = []string{"localhost", "other.example.com"} })
		routed("localhost", "other.example.com")
		harness.EditObject(t, routes, route, func() { route.Spec.Hosts = []string{"elsewhere.example.com"} })
		routed("localhost", "other.example.com")
	})
	w.agent = agent.Follow(t, s.Remote)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("what the listener counted: %v", w.results(t))
		}
	})
	kyma := harness.NewKyma("watched")
	kyma.Labels = map[string]string{shared.LabelRuntimeID: runtimeID}
	s.Create(kyma)
	w.agentBecomes(metav1.ConditionTrue)
	t.Run("an event comes through the gateway", func(t *testing.T) { w.becomesActedOn("sample") })
	t.Run("who does not come from the gateway is not believed", func(t *testing.T) {
		address := "http://" + listener + shared.EventPath("lifecycle-manager")
		answer, err := http.Post(address, "application/json", http.NoBody) //nolint:noctx // it answers at once
		require.NoError(t, err)
		_ = answer.Body.Close()
		require.Equal(t, http.StatusUnauthorized, answer.StatusCode)
	})
	t.Run("a certificate that is revoked is issued again", func(t *testing.T) {
		before := w.revoke(t)
		w.Eventually("the remote cluster has another certificate", 2*time.Minute, func(c *assert.CollectT) {
			assert.NotEqual(c, before.SerialNumber, w.leaf(c).SerialNumber)
		})
		w.agentBecomes(metav1.ConditionTrue)
	})
	t.Run("another issuer takes over", func(t *testing.T) {
		s.Instance.Stop()
		workers.Stop()
		s.Instance.Flags, workers.Flags = by("cert.gardener.cloud/v1alpha1", "watchers"), by("cert.gardener.cloud/v1alpha1", "workers")
		s.Instance.Launch()
		workers.Start()
		name := client.ObjectKey{Namespace: istioNamespace, Name: desired.CertificateName("watched")}
		harness.Edit(t, s.ControlPlane, s.Kyma("watched"), func(k *v1beta2.Kyma) {
			k.Annotations = map[string]string{shared.AnnotationSKRDomain: "watched.example.com"}
		})
		w.Eventually("the certificate is Gardener's", 2*time.Minute, func(c *assert.CollectT) {
			require.NoError(c, s.ControlPlane.Get(t.Context(), name, certificateOf(certmanager.Gardener)))
			assert.True(c, apierrors.IsNotFound(s.ControlPlane.Get(t.Context(), name, certificateOf(certmanager.CertManager))))
			assert.Contains(c, w.leaf(c).DNSNames, "watched.example.com")
		})
		w.agentBecomes(metav1.ConditionTrue)
		w.becomesActedOn()
	})
	t.Run("nothing is left", func(t *testing.T) {
		s.RemoveKyma("watched")
		name := client.ObjectKey{Namespace: istioNamespace, Name: desired.CertificateName("watched")}
		require.True(t, apierrors.IsNotFound(s.ControlPlane.Get(t.Context(), name, certificateOf(certmanager.Gardener))))
		id := kick.WatcherWorkflowID(kick.RefOf(watcher))
		hold := func(finalizers ...string) {
			harness.EditObject(t, routes, route, func() { route.Finalizers = finalizers })
		}
		hold("example.com/held")
		require.NoError(t, s.ControlPlane.Delete(t.Context(), watcher))
		w.Eventually("its workflow waits for the removal of the route", time.Minute, func(c *assert.CollectT) {
			assert.Contains(c, harness.Decoded(s.History(id)), routing.ReasonRemoving)
		})
		continueAsNew(t, s, id)
		hold()
		w.Eventually("the Watcher and its route are gone", time.Minute, func(c *assert.CollectT) {
			assert.True(c, apierrors.IsNotFound(s.ControlPlane.Get(t.Context(), at, &v1beta2.Watcher{})))
			assert.True(c, apierrors.IsNotFound(routes.Get(t.Context(), at, &networkingv1.VirtualService{})))
		})
		s.AssertRuns("routing", map[string]string{"watcher": id})
	})
	t.Run("where there are no events any more, a Watcher can be deleted", func(t *testing.T) {
		watcher := w.watch("late", v1beta2.WatchedFieldSpec, v1beta2.WatchableGVR{Group: shared.OperatorGroup, Version: "*", Resource: "kymas"})
		at := client.ObjectKeyFromObject(watcher)
		w.Eventually("the Watcher has a finalizer", time.Minute, func(c *assert.CollectT) {
			require.NoError(c, s.ControlPlane.Get(t.Context(), at, watcher))
			assert.NotEmpty(c, watcher.Finalizers)
		})
		s.Instance.Stop()
		workers.Stop()
		s.Instance.Flags, workers.Flags = []string{"--role", "watchers", "--metrics-bind-address", metrics}, []string{"--role", "workers"}
		s.Instance.Launch()
		workers.Start()
		require.NoError(t, s.ControlPlane.Delete(t.Context(), watcher))
		w.Eventually("the Watcher is gone", time.Minute, func(c *assert.CollectT) {
			assert.True(c, apierrors.IsNotFound(s.ControlPlane.Get(t.Context(), at, watcher)))
		})
	})
}

func certificateOf(kind schema.GroupVersionKind) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return object
}

// istioClient is a client of the control plane for Istio's kinds.
func istioClient(t *testing.T, s *harness.Environment) cluster.Cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, networkingv1.AddToScheme(scheme))
	c, err := client.New(cluster.AdminConfig(t, s.ControlPlane.Kubeconfig), client.Options{Scheme: scheme})
	require.NoError(t, err)
	return cluster.Cluster{Client: c, Kubeconfig: s.ControlPlane.Kubeconfig}
}
