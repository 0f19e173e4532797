package certificates_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/events/certificates"
	"github.com/kyma-project/lifecycle-manager/internal/events/certificates/pki"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/test/harness/certmanager"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// place is a namespace in a control plane with a real API server.
type place struct {
	client.Client
	t         *testing.T
	namespace string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", testfleet.Require(t, "LM_TEST_CONTROL_PLANE"))
	require.NoError(t, err)
	config.QPS = -1
	c, err := client.New(config, client.Options{Scheme: desiredtest.Scheme()})
	require.NoError(t, err)
	p := &place{Client: c, t: t, namespace: fmt.Sprintf("certificates-%d", time.Now().UnixNano())}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespace}}
	require.NoError(t, c.Create(t.Context(), namespace))
	t.Cleanup(func() { require.NoError(t, client.IgnoreNotFound(c.Delete(context.Background(), namespace))) })
	return p
}

func (p *place) options(of certificates.Management) certificates.Options {
	o := certificates.Options{
		Client: p, Management: of, Namespace: p.namespace, ListenerNames: []string{"127.0.0.1", "listener.example.com"},
		KeySize: 2048, SwitchGracePeriod: time.Second,
	}
	if of != certificates.SelfManaged {
		o.IssuerName, o.IssuerNamespace = "klm-issuer", p.namespace
	}
	return o
}

// rotates replaces the authority of an issuer.
type rotates interface{ Rotate(t testing.TB) }

// runs starts the issuer: cert-manager's own controllers, or a stand-in for Gardener's. It returns nil if we issue
// certificates ourselves.
func (p *place) runs(of certificates.Management) rotates {
	p.t.Helper()
	if of == certificates.SelfManaged {
		return nil
	}
	certmanager.Install(p.t, p)
	if of == certificates.GardenerManaged {
		return certmanager.Follow(p.t, p, p.namespace)
	}
	return certmanager.Run(p.t, p, testfleet.Require(p.t, "LM_TEST_CONTROL_PLANE"), types.NamespacedName{Namespace: p.namespace, Name: p.options(of).IssuerName})
}

// await rotates and requests the certificate until it is issued.
func (p *place) await(of certificates.Management, request certificates.Request, until func(certificates.Issued) bool) certificates.Issued {
	p.t.Helper()
	authorities, err := certificates.New(p.options(of))
	require.NoError(p.t, err)
	issuer, err := certificates.NewIssuer(p.options(of))
	require.NoError(p.t, err)
	var issued certificates.Issued
	var last error
	require.Eventually(p.t, func() bool {
		if _, last = authorities.Rotate(p.t.Context()); last != nil {
			return false
		}
		issued, last = issuer.Ensure(p.t.Context(), request)
		return last == nil && until(issued)
	}, time.Minute, 200*time.Millisecond, "%v", last)
	return issued
}

func (p *place) secret(name string) *corev1.Secret {
	p.t.Helper()
	secret := &corev1.Secret{}
	require.NoError(p.t, p.Get(p.t.Context(), types.NamespacedName{Namespace: p.namespace, Name: name}, secret))
	return secret
}

// connect sends a request to a listener that uses its Secret.
func (p *place) connect(issued certificates.Issued) string {
	p.t.Helper()
	secret := p.secret(certificates.DefaultListenerSecret)
	config := func(certificate, key, authorities []byte) *tls.Config {
		pair, err := tls.X509KeyPair(certificate, key)
		require.NoError(p.t, err)
		pool := x509.NewCertPool()
		require.True(p.t, pool.AppendCertsFromPEM(authorities))
		return &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS13}
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.TLS.PeerCertificates[0].Subject.CommonName)
	}))
	server.TLS = config(secret.Data[shared.CertificateKey], secret.Data[shared.PrivateKeyKey], secret.Data[shared.CertificateAuthorityKey])
	server.StartTLS()
	defer server.Close()
	transport := &http.Transport{TLSClientConfig: config(issued.Certificate, issued.PrivateKey, issued.Authorities)}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Get(server.URL)
	require.NoError(p.t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	require.NoError(p.t, err)
	return string(body)
}

func TestEachIssuerIssuesACertificateThatTheListenerAcceptsAndReplacesItsAuthority(t *testing.T) {
	for _, of := range []certificates.Management{certificates.SelfManaged, certificates.CertManagerManaged, certificates.GardenerManaged} {
		t.Run(string(of), func(t *testing.T) {
			p := newPlace(t)
			signer := p.runs(of)
			request := certificates.Request{Namespace: "kcp-system", Kyma: "sample", CommonName: "runtime-1", DNSNames: []string{"skr-webhook.kyma-system.svc"}}
			issuedAtAll := func(certificates.Issued) bool { return true }
			issued := p.await(of, request, issuedAtAll)
			require.Equal(t, "runtime-1", p.connect(issued))
			before := p.secret("sample-webhook-tls")
			require.Equal(t, issued.Signer, before.Annotations[certificates.AnnotationSigner])

			p.await(of, request, issuedAtAll)
			require.Equal(t, before.ResourceVersion, p.secret("sample-webhook-tls").ResourceVersion, "nothing is written")

			request.DNSNames = append(request.DNSNames, "another.example.com")
			issued = p.await(of, request, func(i certificates.Issued) bool { return i.Version != issued.Version })
			require.True(t, pki.HasNames(pki.Parse(issued.Certificate)[0], request.DNSNames))
			require.Equal(t, "runtime-1", p.connect(issued))

			p.replaceAuthority(signer)
			replaced := p.await(of, request, func(i certificates.Issued) bool {
				return i.Signer != issued.Signer && len(pki.Parse(i.Authorities)) == 1
			})
			require.Equal(t, "runtime-1", p.connect(replaced))

			issuer, err := certificates.NewIssuer(p.options(of))
			require.NoError(t, err)
			require.Eventually(t, func() bool { return issuer.Remove(t.Context(), "kcp-system", "sample") == nil }, time.Minute, 200*time.Millisecond)
			err = p.Get(t.Context(), types.NamespacedName{Namespace: p.namespace, Name: "sample-webhook-tls"}, &corev1.Secret{})
			require.True(t, apierrors.IsNotFound(err), "%v", err)
		})
	}
}

// replaceAuthority replaces the authority that signs certificates: ours, or a controller's.
func (p *place) replaceAuthority(signer rotates) {
	p.t.Helper()
	if signer != nil {
		signer.Rotate(p.t)
		// The controller would renew its certificate only weeks later. Without the Secret, the issuer requests it at once.
		require.NoError(p.t, p.Delete(p.t.Context(), p.secret(certificates.ListenerCertificateSecret)))
		return
	}
	secret := p.secret(certificates.AuthoritySecret)
	secret.Annotations = map[string]string{certificates.AnnotationRotate: "now"}
	require.NoError(p.t, p.Update(p.t.Context(), secret))
}
