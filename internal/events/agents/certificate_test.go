package agents_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/events/agents"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

func encode(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func newAuthority(t *testing.T, name string) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	certificate, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return authority{certificate, key, encode(der)}
}

// sign returns a certificate of the agent. Its key is not part of the test.
func (a authority) sign(t *testing.T) []byte {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "runtime"}, DNSNames: []string{"skr-webhook.kyma-system.svc"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, a.key.Public(), a.key)
	require.NoError(t, err)
	return encode(der)
}

// newRemote returns a remote cluster that records field ownership, as a real one does.
func newRemote() *fake.ClientBuilder { return fake.NewClientBuilder().WithReturnManagedFields() }

func wanted(certificate, authorities []byte, version string) agents.Secret {
	return agents.Secret{
		Namespace: "kyma-system", Annotations: map[string]string{"from": "here"},
		Certificate: certificate, PrivateKey: []byte("key " + version), Authorities: authorities, Version: version,
	}
}

func secretIn(t *testing.T, remote client.Client) *corev1.Secret {
	t.Helper()
	return secretOf(t, remote, "kyma-system")
}

func secretOf(t *testing.T, remote client.Client, namespace string) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{}
	require.NoError(t, remote.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: shared.AgentSecret}, secret))
	return secret
}

func TestTheCertificateIsWrittenOnceAndCorrected(t *testing.T) {
	remote := newRemote().Build()
	a := newAuthority(t, "one")
	secret := wanted(a.sign(t), a.pem, "1")
	for _, writes := range []int{1, 0} {
		wrote, err := agents.EnsureCertificate(t.Context(), remote, secret)
		require.NoError(t, err)
		require.Equal(t, writes, wrote)
	}
	found := secretIn(t, remote)
	require.Equal(t, corev1.SecretTypeTLS, found.Type)
	require.Equal(t, "key 1", string(found.Data[shared.PrivateKeyKey]))
	require.Equal(t, shared.ManagedByKyma, found.Labels[shared.LabelManagedBy])

	found.Data[shared.PrivateKeyKey] = []byte("of somebody else")
	require.NoError(t, remote.Update(t.Context(), found))
	wrote, err := agents.EnsureCertificate(t.Context(), remote, secret)
	require.NoError(t, err)
	require.Equal(t, 1, wrote)
	require.Equal(t, "key 1", string(secretIn(t, remote).Data[shared.PrivateKeyKey]))
}

func TestACertificateOfANewAuthorityWaitsUntilTheAPIServerTrustsIt(t *testing.T) {
	before, after := newAuthority(t, "one"), newAuthority(t, "two")
	webhooks := &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: shared.AgentName},
		Webhooks:   []admissionv1.ValidatingWebhook{{Name: "a", ClientConfig: admissionv1.WebhookClientConfig{CABundle: before.pem}}},
	}
	remote := newRemote().WithObjects(webhooks).Build()
	first := before.sign(t)
	_, err := agents.EnsureCertificate(t.Context(), remote, wanted(first, before.pem, "1"))
	require.NoError(t, err)

	both := append(append([]byte{}, before.pem...), after.pem...)
	second := wanted(after.sign(t), both, "2")
	wrote, err := agents.EnsureCertificate(t.Context(), remote, second)
	require.Equal(t, agents.ReasonHeldBack, fault.Of(err).Reason)
	require.Equal(t, fault.Pending, fault.Of(err).Kind)
	require.Equal(t, 1, wrote, "the authorities come at once")
	found := secretIn(t, remote)
	require.Equal(t, first, found.Data[shared.CertificateKey])
	require.Equal(t, "key 1", string(found.Data[shared.PrivateKeyKey]))
	require.Equal(t, both, found.Data[shared.CertificateAuthorityKey])

	require.NoError(t, remote.Get(t.Context(), client.ObjectKeyFromObject(webhooks), webhooks))
	webhooks.Webhooks[0].ClientConfig.CABundle = both
	require.NoError(t, remote.Update(t.Context(), webhooks))
	_, err = agents.EnsureCertificate(t.Context(), remote, second)
	require.NoError(t, err)
	require.Equal(t, second.Certificate, secretIn(t, remote).Data[shared.CertificateKey])
}

// applied returns the managed fields entry of our apply of one webhook.
func applied(webhook string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: shared.FieldManagerModuleResources, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "admissionregistration.k8s.io/v1",
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:webhooks":{"k:{\"name\":\"` + webhook + `\"}":{".":{},"f:clientConfig":{"f:caBundle":{}}}}}`),
	}
}

func TestWebhooksOfOthersHoldNothingBackOnceOursAreThere(t *testing.T) {
	before, after := newAuthority(t, "one"), newAuthority(t, "two")
	first, second := before.sign(t), after.sign(t)
	webhook := func(name string, trusted []byte) admissionv1.ValidatingWebhook {
		return admissionv1.ValidatingWebhook{Name: name, ClientConfig: admissionv1.WebhookClientConfig{CABundle: trusted}}
	}
	both := append(append([]byte{}, before.pem...), after.pem...)
	for name, test := range map[string]struct {
		managed  []metav1.ManagedFieldsEntry
		webhooks []admissionv1.ValidatingWebhook
		held     bool
	}{
		"only upstream's webhooks, which are still used": {nil, []admissionv1.ValidatingWebhook{webhook("a", before.pem)}, true},
		"our webhook, and a leftover of upstream":        {[]metav1.ManagedFieldsEntry{applied("a")}, []admissionv1.ValidatingWebhook{webhook("a", both), webhook("b", before.pem)}, false},
		"our webhook, with the former authority":         {[]metav1.ManagedFieldsEntry{applied("a")}, []admissionv1.ValidatingWebhook{webhook("a", before.pem), webhook("b", both)}, true},
		"webhooks of others, after ours were deleted":    {[]metav1.ManagedFieldsEntry{applied("gone")}, []admissionv1.ValidatingWebhook{webhook("b", before.pem)}, false},
		"a webhook that refuses the present certificate": {nil, []admissionv1.ValidatingWebhook{webhook("a", newAuthority(t, "three").pem)}, false},
		"a webhook that accepts no certificate":          {nil, []admissionv1.ValidatingWebhook{webhook("a", nil)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			remote := fake.NewClientBuilder().WithReturnManagedFields().WithObjects(&admissionv1.ValidatingWebhookConfiguration{
				ObjectMeta: metav1.ObjectMeta{Name: shared.AgentName, ManagedFields: test.managed}, Webhooks: test.webhooks,
			}).Build()
			_, err := agents.EnsureCertificate(t.Context(), remote, wanted(first, before.pem, "1"))
			require.NoError(t, err)
			_, err = agents.EnsureCertificate(t.Context(), remote, wanted(second, both, "2"))
			if !test.held {
				require.NoError(t, err)
				require.Equal(t, second, secretIn(t, remote).Data[shared.CertificateKey])
				return
			}
			require.Equal(t, agents.ReasonHeldBack, fault.Of(err).Reason)
			require.Equal(t, first, secretIn(t, remote).Data[shared.CertificateKey])
		})
	}
}

func TestASecretOfSomebodyElseIsNotOverwritten(t *testing.T) {
	theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kyma-system", Name: shared.AgentSecret}}
	remote := newRemote().WithObjects(theirs).Build()
	a := newAuthority(t, "one")
	_, err := agents.EnsureCertificate(t.Context(), remote, wanted(a.sign(t), a.pem, "1"))
	require.Equal(t, fault.Rejected, fault.Of(err).Kind)
	require.Empty(t, secretIn(t, remote).Data)
}

func TestTheAPIServersTextAboutTheSecretIsNotRepeated(t *testing.T) {
	a := newAuthority(t, "one")
	secret := wanted(a.sign(t), a.pem, "1")
	remote := interceptor.NewClient(newRemote().Build(), interceptor.Funcs{
		Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
			return invalid{errors.New("tls.key: " + string(secret.PrivateKey))}
		},
	})
	_, err := agents.EnsureCertificate(t.Context(), remote, secret)
	require.Equal(t, fault.Rejected, fault.Of(err).Kind)
	require.NotContains(t, fault.Of(err).Message, "key 1")
}

// invalid is an error for which an API server answers 422.
type invalid struct{ error }

func (invalid) Status() metav1.Status {
	return metav1.Status{Reason: metav1.StatusReasonInvalid, Code: 422}
}
