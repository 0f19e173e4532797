package sync

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/deploy/crds"
	"github.com/kyma-project/lifecycle-manager/internal/events/certificates"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// issuer issues the certificate of an agent, and counts the requests.
type issuer struct {
	asked int
	err   error
}

const agentKey = "the private key of the agent"

func (i *issuer) Ensure(context.Context, certificates.Request) (certificates.Issued, error) {
	i.asked++
	return certificates.Issued{Certificate: []byte("certificate"), PrivateKey: []byte(agentKey), Authorities: []byte("authorities"), Version: "1"}, i.err
}

// watched returns an instance with events, and a Kyma with an agent that has its certificate.
func watched(t *testing.T) (*bench, *issuer) {
	t.Helper()
	kyma := desiredtest.Kyma("keda")
	kyma.Labels[shared.LabelRuntimeID] = "runtime"
	b, i := newBench(t, kyma, desired.Settings{}), &issuer{}
	definitions, err := crds.Get(crds.Kymas, crds.ModuleTemplates, crds.ModuleReleaseMetas)
	require.NoError(t, err)
	b.Activities, err = New(Options{
		Settings:     desired.Settings{Watching: desired.Watching{Routing: desired.RoutingDirect, IstioNamespace: "istio-system"}},
		ControlPlane: b.control, Catalog: b.control, Clusters: b, Definitions: definitions, Version: "1.0.0", Certificates: i,
	})
	require.NoError(t, err)
	require.NoError(t, b.control.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: "istio-system", Name: certificates.AgentCertificate(kyma.Name),
	}}))
	b.sync(t)
	copied := b.remoteKyma(t)
	copied.Status = desired.RemoteStatus(b.kyma(t))
	require.NoError(t, b.remote.Status().Update(t.Context(), copied))
	b.forget()
	return b, i
}

func (b *bench) pass(t *testing.T) string {
	t.Helper()
	changed, why, err := b.Probe(t.Context(), b.kyma(t), false)
	require.NoError(t, err)
	if !changed {
		return ""
	}
	return why
}

func (b *bench) agentSecret(t *testing.T) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{}
	require.NoError(t, b.remote.Get(t.Context(), types.NamespacedName{Namespace: "kyma-system", Name: shared.AgentSecret}, secret))
	return secret
}

func TestTheCertificateOfTheAgentAddsOneReadOfMetadataToAnIdlePass(t *testing.T) {
	b, i := watched(t)
	asked := i.asked
	require.Empty(t, b.pass(t))
	require.Equal(t, []string{
		"get Kyma default", "list ModuleTemplateList", "list ModuleReleaseMetaList", "get Secret " + shared.AgentSecret,
	}, without(b.remote.Reads(), "get Namespace kube-system"))
	require.Empty(t, b.remote.Writes())
	require.Empty(t, b.control.Writes())
	require.Equal(t, asked, i.asked, "a pass issues no certificate")
}

func without(all []string, one string) []string {
	var rest []string
	for _, each := range all {
		if each != one {
			rest = append(rest, each)
		}
	}
	return rest
}

func TestTheSweepFindsAChangedAgentCertificateAndASynchronizationRestoresIt(t *testing.T) {
	for what, change := range map[string]func(*testing.T, *bench){
		"deleted": func(t *testing.T, b *bench) { require.NoError(t, b.remote.Delete(t.Context(), b.agentSecret(t))) },
		"edited": func(t *testing.T, b *bench) {
			secret := b.agentSecret(t)
			secret.Data[shared.PrivateKeyKey] = []byte("of somebody else")
			require.NoError(t, b.remote.Update(t.Context(), secret, client.FieldOwner("kubectl-edit")))
		},
		"without its label": func(t *testing.T, b *bench) {
			secret := b.agentSecret(t)
			secret.Labels = nil
			require.NoError(t, b.remote.Update(t.Context(), secret, client.FieldOwner("kubectl-edit")))
		},
	} {
		t.Run(what, func(t *testing.T) {
			b, _ := watched(t)
			change(t, b)
			require.Equal(t, AgentDiffers, b.pass(t))
			result := b.sync(t)
			require.True(t, result.Faults[fault.PartAgent].IsZero(), "%v", result.Faults)
			require.Equal(t, 1, result.Writes)
			require.Equal(t, agentKey, string(b.agentSecret(t).Data[shared.PrivateKeyKey]))
			require.Equal(t, shared.ManagedByKyma, b.agentSecret(t).Labels[shared.LabelManagedBy])
			require.Empty(t, b.pass(t))
		})
	}
}

func TestAnAgentCertificateThatIsNotIssuedIsNotMissed(t *testing.T) {
	for what, change := range map[string]func(*testing.T, *bench, *v1beta2.Kyma){
		"no runtime id": func(_ *testing.T, _ *bench, kyma *v1beta2.Kyma) { delete(kyma.Labels, shared.LabelRuntimeID) },
		"none issued yet": func(t *testing.T, b *bench, kyma *v1beta2.Kyma) {
			require.NoError(t, b.control.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
				Namespace: "istio-system", Name: certificates.AgentCertificate(kyma.Name),
			}}))
		},
		"no events": func(_ *testing.T, b *bench, _ *v1beta2.Kyma) { b.Settings.Watching = desired.Watching{} },
	} {
		t.Run(what, func(t *testing.T) {
			b, _ := watched(t)
			require.NoError(t, b.remote.Delete(t.Context(), b.agentSecret(t)))
			kyma := b.kyma(t)
			change(t, b, kyma)
			changed, err := b.probeAgent(t.Context(), kyma, desired.SyncOf(kyma, b.Settings), b.remote, false)
			require.NoError(t, err)
			require.False(t, changed)
		})
	}
}

func TestAnAgentCertificateThatIsRemovedEachTimeIsRestoredOnceADay(t *testing.T) {
	b, _ := watched(t)
	told := &heard{}
	b.reverts = newReverts(told, nil)
	for range revertLimit {
		require.NoError(t, b.remote.Delete(t.Context(), b.agentSecret(t)))
		require.Equal(t, AgentDiffers, b.pass(t))
		b.sync(t)
	}
	require.NoError(t, b.remote.Delete(t.Context(), b.agentSecret(t)))
	require.Empty(t, b.pass(t))
	require.Len(t, *told, 1)
	require.Contains(t, (*told)[0], "kyma-system/"+shared.AgentSecret)
	require.NotContains(t, (*told)[0], agentKey)
}
