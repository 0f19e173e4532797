package agents_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/events/agents"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// deployed returns the Deployment of an agent as its Manifest applied it.
func deployed() *appsv1.Deployment {
	entry := applied("")
	entry.APIVersion = "apps/v1"
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "kyma-system", Name: shared.AgentName, ManagedFields: []metav1.ManagedFieldsEntry{entry}}}
	d.Spec.Template.Labels = map[string]string{"app": shared.AgentName}
	return d
}

// startedWith returns the certificate that the agent's pods were last started with.
func startedWith(t *testing.T, remote client.Client) string {
	t.Helper()
	d := deployed()
	require.NoError(t, remote.Get(t.Context(), client.ObjectKeyFromObject(d), d))
	require.Equal(t, shared.AgentName, d.Spec.Template.Labels["app"])
	return d.Spec.Template.Labels[agents.LabelRestart]
}

func TestPodsThatReadTheirCertificateOnlyAtStartAreRestartedForEachCertificate(t *testing.T) {
	remote := fake.NewClientBuilder().WithReturnManagedFields().WithObjects(deployed()).Build()
	a := newAuthority(t, "one")
	secret := wanted(a.sign(t), a.pem, "1")
	ensure := func(writes int) {
		t.Helper()
		wrote, err := agents.EnsureCertificate(t.Context(), remote, secret)
		require.NoError(t, err)
		require.Equal(t, writes, wrote)
	}
	ensure(1)
	require.Empty(t, startedWith(t, remote), "our agent reads its certificate whenever it changes")

	secret.Restart = true
	ensure(1)
	first := startedWith(t, remote)
	require.NotEmpty(t, first)
	ensure(0)
	secret.Authorities, secret.Version = append(secret.Authorities, newAuthority(t, "two").pem...), "2"
	ensure(1)
	require.Equal(t, first, startedWith(t, remote), "authorities are read for each event")
	secret.Certificate, secret.Version = a.sign(t), "3"
	ensure(2)
	require.NotEqual(t, first, startedWith(t, remote))
	require.Empty(t, validation.IsValidLabelValue(startedWith(t, remote)))
}

func TestAFailedRestartIsRetried(t *testing.T) {
	broken := errors.New("not now")
	failing := true
	remote := interceptor.NewClient(fake.NewClientBuilder().WithReturnManagedFields().WithObjects(deployed()).Build(), interceptor.Funcs{
		Patch: func(ctx context.Context, w client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if _, ok := o.(*appsv1.Deployment); ok && failing {
				return broken
			}
			return w.Patch(ctx, o, patch, opts...)
		},
	})
	a := newAuthority(t, "one")
	secret := wanted(a.sign(t), a.pem, "1")
	secret.Restart = true
	_, err := agents.EnsureCertificate(t.Context(), remote, secret)
	require.ErrorIs(t, err, broken)
	require.Equal(t, secret.Certificate, secretIn(t, remote).Data[shared.CertificateKey])
	failing = false
	_, err = agents.EnsureCertificate(t.Context(), remote, secret)
	require.NoError(t, err)
	require.NotEmpty(t, startedWith(t, remote))
}

func TestNothingIsRestartedForACertificateThatWaits(t *testing.T) {
	before, after := newAuthority(t, "one"), newAuthority(t, "two")
	webhooks := &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: shared.AgentName},
		Webhooks:   []admissionv1.ValidatingWebhook{{Name: "a", ClientConfig: admissionv1.WebhookClientConfig{CABundle: before.pem}}},
	}
	upstreams := deployed()
	upstreams.ManagedFields = nil
	remote := fake.NewClientBuilder().WithReturnManagedFields().WithObjects(webhooks, upstreams).Build()
	secret := wanted(before.sign(t), before.pem, "1")
	secret.Restart = true
	_, err := agents.EnsureCertificate(t.Context(), remote, secret)
	require.NoError(t, err)
	require.Empty(t, startedWith(t, remote), "the Deployment has not been taken over yet")

	require.NoError(t, remote.Delete(t.Context(), upstreams))
	require.NoError(t, remote.Create(t.Context(), deployed()))
	_, err = agents.EnsureCertificate(t.Context(), remote, secret)
	require.NoError(t, err)
	first := startedWith(t, remote)
	require.NotEmpty(t, first)
	next := wanted(after.sign(t), append(before.pem, after.pem...), "2")
	next.Restart = true
	_, err = agents.EnsureCertificate(t.Context(), remote, next)
	require.Equal(t, agents.ReasonHeldBack, fault.Of(err).Reason)
	require.Equal(t, first, startedWith(t, remote))
}
