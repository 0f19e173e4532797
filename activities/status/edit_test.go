package status

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

const (
	editIgnored = "spec.channel and spec.modules have no effect here: the Kyma kyma-system/default in the remote cluster decides (spec.sync is unset)"
	editInstead = "edit the Kyma kyma-system/default in the remote cluster, or set spec.sync so that both Kymas count"
)

func TestAnIneffectiveEditInTheControlPlaneIsReportedOnce(t *testing.T) {
	b := remoteBench(t)
	b.report(t)
	require.Empty(t, condition(b.kyma(t), "RemoteKymaDecides").Type, "the remote Kyma may differ")

	b.edit(t, func(k *v1beta2.Kyma) { k.Spec.Channel, k.Generation = "fast", k.Generation+1 })
	b.told = nil
	require.Equal(t, shared.StateReady, b.report(t).State, "nothing is wrong with the cluster")
	kyma := b.kyma(t)
	said := condition(kyma, "RemoteKymaDecides")
	require.Equal(t, metav1.ConditionTrue, said.Status)
	require.Equal(t, "EditIgnored", said.Reason)
	require.Equal(t, editIgnored, said.Message)
	require.Equal(t, "kyma is ready", kyma.Status.LastOperation.Operation)
	require.Equal(t, editInstead, kyma.Status.LastOperation.Hint)
	require.Equal(t, []string{"Warning EditIgnored: " + editIgnored + " [hint: " + editInstead + "]"}, b.told)
	require.Empty(t, condition(b.remoteKyma(t), "RemoteKymaDecides").Type, "the owner of the remote Kyma decides")

	b.told = nil
	b.control.Forget()
	b.report(t)
	require.Empty(t, b.told)
	require.Empty(t, b.control.Writes())

	b.says(t, "keda", shared.StateProcessing, "")
	require.Equal(t, shared.StateProcessing, b.report(t).State)
	require.Equal(t, "waiting for all modules to become ready", b.kyma(t).Status.LastOperation.Operation)
	require.Empty(t, b.kyma(t).Status.LastOperation.Hint, "the hint about the edit does not help the module")
	require.Equal(t, metav1.ConditionTrue, condition(b.kyma(t), "RemoteKymaDecides").Status)
	b.says(t, "keda", shared.StateReady, "")
	b.report(t)
	b.told = nil

	b.edit(t, func(k *v1beta2.Kyma) { k.Spec.Channel, k.Generation = "slow", k.Generation+1 })
	b.report(t)
	require.Len(t, b.told, 1, "each edit has an Event")

	for name, back := range map[string]func(*v1beta2.Kyma){
		"taken back":                    func(k *v1beta2.Kyma) { k.Spec = desiredSpec() },
		"the same as the remote Kyma's": func(k *v1beta2.Kyma) { k.Spec.Channel, k.Spec.Modules = "regular", []v1beta2.Module{{Name: "keda"}} },
	} {
		t.Run(name, func(t *testing.T) {
			b.edit(t, func(k *v1beta2.Kyma) { k.Spec.Channel = "fast" })
			b.report(t)
			require.NotEmpty(t, condition(b.kyma(t), "RemoteKymaDecides").Type)
			b.edit(t, back)
			b.report(t)
			require.Empty(t, condition(b.kyma(t), "RemoteKymaDecides").Type)
		})
	}
}

// desiredSpec returns the spec of remoteBench's Kyma.
func desiredSpec() v1beta2.KymaSpec { return v1beta2.KymaSpec{} }

func TestAnEditCountsIfBothKymasDecide(t *testing.T) {
	b := remoteBench(t)
	b.report(t)
	on := true
	b.edit(t, func(k *v1beta2.Kyma) { k.Spec.Sync, k.Spec.Channel = &v1beta2.Sync{Enabled: &on}, "fast" })
	kyma := b.kyma(t)
	kyma.Status.Remote.Generation = v1beta2.SyncGenerationExplicit
	require.NoError(t, b.control.Status().Update(t.Context(), kyma))
	b.report(t)
	kyma = b.kyma(t)
	require.Empty(t, condition(kyma, "RemoteKymaDecides").Type)
	require.Empty(t, kyma.Status.Remote.ControlPlaneSpecDigest, "later edits are compared with the spec of that time")
}
