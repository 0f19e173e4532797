package collectors

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/events/certificates"
	"github.com/kyma-project/lifecycle-manager/internal/events/certificates/pki"
)

func agentSecret(kyma string, renewal time.Time, managedBy string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: "istio-system", Name: certificates.AgentCertificate(kyma),
		Labels:      map[string]string{shared.LabelKymaName: kyma, shared.LabelManagedBy: managedBy, shared.LabelPurpose: certificates.PurposeAgent},
		Annotations: map[string]string{certificates.AnnotationRenewal: renewal.Format(time.RFC3339)},
	}}
}

func listenerSecret(t *testing.T, end time.Time) *corev1.Secret {
	t.Helper()
	pair, err := pki.NewAuthority("listener", noon, end)
	require.NoError(t, err)
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "istio-system", Name: "listener"}, Data: map[string][]byte{shared.CertificateKey: pair.Certificate}}
}

func certificatesOf(reader client.Reader) *Certificates {
	return NewCertificates(CertificatesOptions{
		Secrets: reader, Namespace: "istio-system", ListenerSecret: "listener", ManagedBy: "lifecycle-manager",
		RenewBuffer: 24 * time.Hour, ExpiryWindow: 48 * time.Hour, Log: logr.Discard(), Now: func() time.Time { return noon },
	})
}

const closeToExpiry = "lifecycle_mgr_gateway_secret_server_cert_close_to_expiry{}"

func TestCertificatesThatShouldHaveBeenRenewedAreExported(t *testing.T) {
	reader := fake.NewClientBuilder().WithObjects(
		agentSecret("late", noon.Add(-25*time.Hour), "lifecycle-manager"), agentSecret("due", noon.Add(-23*time.Hour), "lifecycle-manager"),
		agentSecret("fine", noon.Add(time.Hour), "lifecycle-manager"), agentSecret("theirs", noon.Add(-25*time.Hour), "another"),
		listenerSecret(t, noon.Add(49*time.Hour)),
	).Build()
	c := certificatesOf(reader)
	require.Empty(t, values(t, c), "a process that does not lead exports nothing")
	require.NoError(t, c.read(t.Context()))
	require.Equal(t, map[string]float64{`lifecycle_mgr_self_signed_cert_not_renew{kyma_name="late"}`: 1, closeToExpiry: 0}, values(t, c))
	problems, err := testutil.CollectAndLint(c)
	require.NoError(t, err)
	require.Empty(t, problems)
	require.True(t, c.NeedLeaderElection())
}

func TestTheListenersCertificateIsCloseToExpiryIfItExpiresSoonOrIsMissing(t *testing.T) {
	for name, c := range map[string]struct {
		secrets []client.Object
		want    float64
	}{
		"later":      {[]client.Object{listenerSecret(t, noon.Add(49*time.Hour))}, 0},
		"soon":       {[]client.Object{listenerSecret(t, noon.Add(47*time.Hour))}, 1},
		"none":       {nil, 1},
		"unreadable": {[]client.Object{&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "istio-system", Name: "listener"}}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			metrics := certificatesOf(fake.NewClientBuilder().WithObjects(c.secrets...).Build())
			require.NoError(t, metrics.read(t.Context()))
			require.Equal(t, map[string]float64{closeToExpiry: c.want}, values(t, metrics))
		})
	}
}

// down is a control plane that does not answer.
type down struct{ client.Reader }

func (down) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("no connection")
}

func (down) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("no connection")
}

func TestUnreadableCertificatesAreNotExported(t *testing.T) {
	c := certificatesOf(fake.NewClientBuilder().WithObjects(listenerSecret(t, noon.Add(time.Hour))).Build())
	require.NoError(t, c.read(t.Context()))
	require.NotEmpty(t, values(t, c))
	c.Secrets = down{}
	require.Error(t, c.read(t.Context()))
	require.Empty(t, values(t, c))
}
