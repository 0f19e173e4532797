package sync

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/events/certificates"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
)

// withAgent returns a bench with a Kyma for which upstream set up its agent.
func withAgent(t *testing.T, change func(*v1beta2.Kyma)) *bench {
	t.Helper()
	kyma := desiredtest.Kyma("keda")
	kyma.Status.Conditions = []metav1.Condition{{
		Type: "SKRWebhook", Status: metav1.ConditionTrue, Reason: "Ready", Message: "skrwebhook is synchronized", LastTransitionTime: metav1.Now(),
	}}
	if change != nil {
		change(kyma)
	}
	certificate := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "istio-system", Name: kyma.Name + "-webhook-tls"}}
	b := newBench(t, kyma, desired.Settings{}, certificate)
	ours := metav1.ObjectMeta{Namespace: "kyma-system", Name: "skr-webhook", Labels: map[string]string{shared.LabelManagedBy: "kyma"}}
	for _, o := range []client.Object{
		&appsv1.Deployment{ObjectMeta: ours},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ours.Namespace, Name: "skr-webhook-tls", Labels: ours.Labels}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ours.Namespace, Name: "skr-webhook"}},
	} {
		require.NoError(t, b.remote.Create(context.Background(), o))
	}
	b.forget()
	return b
}

func (b *bench) agentIsGone(t *testing.T) {
	t.Helper()
	key := client.ObjectKey{Namespace: "kyma-system", Name: "skr-webhook"}
	require.True(t, apierrors.IsNotFound(b.remote.Get(context.Background(), key, &appsv1.Deployment{})))
	require.NoError(t, b.remote.Get(context.Background(), key, &corev1.Service{}), "an object without upstream's label belongs to somebody else")
	key.Name = "skr-webhook-tls"
	require.True(t, apierrors.IsNotFound(b.remote.Get(context.Background(), key, &corev1.Secret{})))
	key = client.ObjectKey{Namespace: "istio-system", Name: b.in.Ref.Name + "-webhook-tls"}
	require.True(t, apierrors.IsNotFound(b.control.Get(context.Background(), key, &corev1.Secret{})))
}

func TestUpstreamsAgentIsRemovedWhenAKymaIsSynchronized(t *testing.T) {
	b := withAgent(t, nil)
	require.Empty(t, b.sync(t).Faults)
	b.agentIsGone(t)
}

func TestUpstreamsAgentIsRemovedWithItsKyma(t *testing.T) {
	b := withAgent(t, func(kyma *v1beta2.Kyma) {
		now := metav1.Now()
		kyma.DeletionTimestamp, kyma.Finalizers = &now, []string{shared.FinalizerKyma}
	})
	require.NoError(t, b.remote.Create(context.Background(), &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Namespace: "kyma-system", Name: "default"}}))
	require.Equal(t, OutcomeClean, b.cleanup(t).Outcome)
	b.agentIsGone(t)
	require.Contains(t, b.remote.Writes(), "delete Kyma default", "although we never synchronized it")
}

func TestTheCertificateIsRemovedFromTheNamespaceInTheFlag(t *testing.T) {
	kyma := desiredtest.Kyma("keda")
	kyma.Status.Conditions = []metav1.Condition{{
		Type: "SKRWebhook", Status: metav1.ConditionTrue, Reason: "Ready", Message: "skrwebhook is synchronized", LastTransitionTime: metav1.Now(),
	}}
	certificate := func(namespace, of string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: kyma.Name + "-webhook-tls", Labels: map[string]string{certificates.LabelKymaNamespace: of},
		}}
	}
	for name, test := range map[string]struct {
		of      string
		removed bool
	}{
		"the Kyma's": {kyma.Namespace, true},
		"the one of a Kyma with this name elsewhere": {"elsewhere", false},
	} {
		t.Run(name, func(t *testing.T) {
			ours, others := certificate("certificates", test.of), certificate("istio-system", kyma.Namespace)
			b := newBench(t, kyma.DeepCopy(), desired.Settings{Watching: desired.Watching{IstioNamespace: "certificates"}}, ours, others)
			require.Empty(t, b.sync(t).Faults)
			err := b.control.Get(context.Background(), client.ObjectKeyFromObject(ours), &corev1.Secret{})
			require.Equal(t, test.removed, apierrors.IsNotFound(err), err)
			require.NoError(t, b.control.Get(context.Background(), client.ObjectKeyFromObject(others), &corev1.Secret{}))
		})
	}
}

func TestAKymaWithoutUpstreamsAgentCostsNoRequests(t *testing.T) {
	b := withAgent(t, func(kyma *v1beta2.Kyma) { kyma.Status.Conditions = nil })
	b.sync(t)
	require.NoError(t, b.remote.Get(context.Background(), client.ObjectKey{Namespace: "kyma-system", Name: "skr-webhook"}, &appsv1.Deployment{}))
}
