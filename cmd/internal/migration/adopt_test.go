package migration

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// ofUpstreams returns a Kyma with the condition that shows that upstream's agent is in its cluster.
func ofUpstreams(name string, labels map[string]string) *v1beta2.Kyma {
	return &v1beta2.Kyma{
		ObjectMeta: metav1.ObjectMeta{Namespace: shared.NamespaceControlPlane, Name: name, UID: "uid", Labels: labels},
		Status:     v1beta2.KymaStatus{Conditions: []metav1.Condition{{Type: "SKRWebhook", Status: metav1.ConditionTrue}}},
	}
}

func TestAdoptRemovesOnlyLabelsThatHoldSet(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, clientscheme.AddToScheme(scheme))
	require.NoError(t, v1beta2.AddToScheme(scheme))
	skipped := map[string]string{shared.LabelSkipReconciliation: shared.ValueTrue}
	// If events are enabled, the condition stays after the takeover. The agent in the cluster is then ours.
	taken := ofUpstreams("taken", nil)
	taken.UID = "taken"
	agent := &v1beta2.RemoteAgent{ObjectMeta: metav1.ObjectMeta{
		Namespace: shared.NamespaceControlPlane, Name: shared.RemoteAgentName("taken"), Labels: map[string]string{shared.LabelKymaName: "taken"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: v1beta2.GroupVersion.String(), Kind: shared.KindKyma, Name: "taken", UID: "taken", Controller: new(true)}},
	}}
	agent.Status.Inventory = []v1beta2.InventoryEntry{{ID: "kyma-system_skr-webhook_apps_Deployment", UID: "1", Hash: "1"}}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(ofUpstreams("free", nil), ofUpstreams("operators", skipped), taken, agent).Build()
	m := &migration{flags: &flags{namespace: shared.NamespaceControlPlane}, controlPlane: c}
	read := func(name string) *v1beta2.Kyma {
		kyma := &v1beta2.Kyma{}
		require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: shared.NamespaceControlPlane, Name: name}, kyma))
		return kyma
	}

	var said strings.Builder
	require.NoError(t, m.hold(t.Context(), &said, nil, true))
	require.Equal(t, "Kyma kcp-system/free: held\n", said.String())
	require.True(t, read("free").IsSkipReconciliation())
	require.Contains(t, read("free").Annotations, annotationHeld)
	require.NotContains(t, read("operators").Annotations, annotationHeld)

	said.Reset()
	require.NoError(t, m.adopt(t.Context(), &said, []string{"free", "operators"}, 0))
	require.Equal(t, "Kyma kcp-system/operators: left alone, because hold did not set its label "+shared.LabelSkipReconciliation+"\n", said.String())
	require.False(t, read("free").IsSkipReconciliation())
	require.NotContains(t, read("free").Annotations, annotationHeld)
	require.True(t, read("operators").IsSkipReconciliation())
}
