package certificates

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/events/certificates/pki"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/test/harness/certmanager"
)

var errDied = errors.New("the process died")

// control is an in-memory control plane with a clock.
type control struct {
	client.Client
	t      *testing.T
	now    time.Time
	writes int
	// diesAt is the number of the write at which the process dies. written is whether that write still happens.
	diesAt  int
	written bool
}

func newControl(t *testing.T, objects ...client.Object) *control {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, corev1.AddToScheme(scheme))
	status := []client.Object{}
	for _, kind := range []*unstructured.Unstructured{{}, {}} {
		kind.SetGroupVersionKind(certmanager.CertManager)
		if len(status) > 0 {
			kind.SetGroupVersionKind(certmanager.Gardener)
		}
		status = append(status, kind)
		scheme.AddKnownTypeWithName(kind.GroupVersionKind(), &unstructured.Unstructured{})
		scheme.AddKnownTypeWithName(kind.GroupVersionKind().GroupVersion().WithKind("CertificateList"), &unstructured.UnstructuredList{})
	}
	c := &control{t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	inner := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(status...).Build()
	c.Client = interceptor.NewClient(inner, interceptor.Funcs{
		Create: func(ctx context.Context, w client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			o.SetUID(types.UID(o.GetName()))
			return c.write(func() error { return w.Create(ctx, o, opts...) })
		},
		Update: func(ctx context.Context, w client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return c.write(func() error { return w.Update(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, w client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return c.write(func() error { return w.Patch(ctx, o, patch, opts...) })
		},
		Delete: func(ctx context.Context, w client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return c.write(func() error { return w.Delete(ctx, o, opts...) })
		},
		Apply: func(ctx context.Context, w client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			return c.write(func() error {
				err := w.Apply(ctx, o, opts...)
				// A real API server sets a uid.
				made, ok := o.(client.Object)
				if err != nil || !ok || made.GetUID() != "" {
					return err
				}
				made.SetUID(types.UID(made.GetName()))
				whole, ok := made.DeepCopyObject().(client.Object)
				require.True(t, ok)
				return w.Update(ctx, whole)
			})
		},
		SubResourceUpdate: func(ctx context.Context, w client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			return c.write(func() error { return w.SubResource(sub).Update(ctx, o, opts...) })
		},
	})
	return c
}

func (c *control) write(do func() error) error {
	c.writes++
	if c.writes != c.diesAt {
		return do()
	}
	if c.written {
		if err := do(); err != nil {
			return err
		}
	}
	return errDied
}

// options returns options with short periods: authorities live for 25 days, certificates for 6, and agents receive
// updates within one.
func (c *control) options(of Management) Options {
	o := Options{
		Client: c, Management: of, Namespace: "istio-system", ListenerNames: []string{"listener.example.com", "127.0.0.1"},
		Duration: 6 * day, RenewBefore: 4 * day, SwitchGracePeriod: day, ListenerReload: day / 4, AuthorityDuration: 25 * day,
		Now: func() time.Time { return c.now }, NewKey: pki.NewKey,
	}
	if of != SelfManaged {
		o.IssuerName, o.IssuerNamespace = "klm-issuer", "istio-system"
	}
	return o
}

const day = 24 * time.Hour

func requestOf(kyma string) Request {
	return Request{Namespace: "kcp-system", Kyma: kyma, CommonName: "runtime-" + kyma, DNSNames: []string{"skr-webhook.kyma-system.svc", kyma + ".example.com"}}
}

func (c *control) issuer(of Management) Issuer {
	c.t.Helper()
	issuer, err := NewIssuer(c.options(of))
	require.NoError(c.t, err)
	return issuer
}

func (c *control) rotate(of Management) (Rotated, error) {
	c.t.Helper()
	a, err := New(c.options(of))
	require.NoError(c.t, err)
	return a.rotate(c.t.Context())
}

func (c *control) rotated(of Management) Rotated {
	c.t.Helper()
	result, err := c.rotate(of)
	require.NoError(c.t, err)
	return result
}

func (c *control) secret(name string) *corev1.Secret {
	c.t.Helper()
	secret := &corev1.Secret{}
	require.NoError(c.t, c.Get(c.t.Context(), types.NamespacedName{Namespace: "istio-system", Name: name}, secret))
	return secret
}

// ask annotates the Secret of authorities, as an operator would.
func (c *control) ask() {
	c.t.Helper()
	secret := c.secret(AuthoritySecret)
	secret.Annotations = map[string]string{AnnotationRotate: "now"}
	require.NoError(c.t, c.Update(c.t.Context(), secret))
}

// shown is what one side of a connection presents and trusts.
type shown struct {
	pair        pki.Pair
	authorities []byte
}

func (c *control) listener() shown {
	secret := c.secret(DefaultListenerSecret)
	return shown{pairOf(secret), secret.Data[shared.CertificateAuthorityKey]}
}

// connect connects an agent to the listener by mutual TLS at a given time. It returns an error if either side refuses
// the other.
func connect(agent, listener shown, at time.Time) error {
	clientSide, serverSide := net.Pipe()
	defer func() { _, _ = clientSide.Close(), serverSide.Close() }()
	config := func(s shown) (*tls.Config, error) {
		certificate, err := tls.X509KeyPair(s.pair.Certificate, s.pair.PrivateKey)
		if err != nil {
			return nil, err
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(s.authorities)
		return &tls.Config{
			Certificates: []tls.Certificate{certificate}, RootCAs: pool, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
			MinVersion: tls.VersionTLS13, ServerName: "listener.example.com", SessionTicketsDisabled: true, Time: func() time.Time { return at },
		}, nil
	}
	agentConfig, agentErr := config(agent)
	listenerConfig, listenerErr := config(listener)
	if err := errors.Join(agentErr, listenerErr); err != nil {
		return err
	}
	accepted := make(chan error, 1)
	go func() {
		server := tls.Server(serverSide, listenerConfig)
		err := server.Handshake()
		if err == nil {
			_, err = server.Write([]byte{1})
		}
		_ = serverSide.Close()
		accepted <- err
	}()
	connection := tls.Client(clientSide, agentConfig)
	err := connection.Handshake()
	if err == nil {
		_, err = io.ReadFull(connection, make([]byte, 1))
	}
	_ = clientSide.Close()
	return errors.Join(err, <-accepted)
}

// called returns an error if an API server with this bundle refuses the certificate of a webhook.
func called(webhook pki.Pair, bundle []byte, at time.Time) error {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(bundle)
	_, err := pki.Parse(webhook.Certificate)[0].Verify(x509.VerifyOptions{Roots: pool, DNSName: "skr-webhook.kyma-system.svc", CurrentTime: at})
	return err
}

func requirePending(t *testing.T, err error) {
	t.Helper()
	require.Equal(t, fault.Pending, fault.Of(err).Kind, "%v", err)
	require.Equal(t, ReasonPending, fault.Of(err).Reason)
}

func noPrivateKeys(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		require.False(t, strings.Contains(text, "PRIVATE") || strings.Contains(text, "BEGIN"), text)
	}
}
