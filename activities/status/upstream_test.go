package status

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

func TestTheConditionOfUpstreamsAgentIsRemovedWithTheAgent(t *testing.T) {
	b := remoteBench(t)
	kyma := b.kyma(t)
	meta.SetStatusCondition(&kyma.Status.Conditions, metav1.Condition{Type: "SKRWebhook", Status: metav1.ConditionTrue, Reason: "Ready"})
	require.NoError(t, b.control.Status().Update(context.Background(), kyma))
	there := func() bool {
		return meta.FindStatusCondition(b.kyma(t).Status.Conditions, string(shared.ConditionSKRWebhook)) != nil
	}
	b.in.Faults = b.in.Faults.With(fault.PartAgent, fault.Fault{Kind: fault.Transient, Reason: "X", Message: "it cannot be removed"})
	b.report(t)
	require.True(t, there(), "the next synchronization tries again")
	b.in.Faults = nil
	b.report(t)
	require.False(t, there())
}
