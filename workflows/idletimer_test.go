package workflows

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/logic"
)

// A timer that was left would fire a day later, for a workflow task that does nothing.
func TestAWaitThatSomethingElseEndsLeavesNoTimer(t *testing.T) {
	for version, cancelled := range map[workflow.Version]int{logic.Answers: 0, logic.NoIdleTimers: 1} {
		w := quietWorld()
		env := environment(t, w)
		env.OnGetVersion(logic.ChangeID, workflow.DefaultVersion, workflow.Version(LogicVersion)).Return(version)
		ended := 0
		env.SetOnTimerCanceledListener(func(string) { ended++ })
		kickAt(env, time.Hour, kick.Kick{Reason: "image pull Secret changed", Kind: "Secret", NotBefore: new(env.Now().Add(25 * time.Hour))})
		kickAt(env, 2*time.Hour, kick.Kick{Reason: "Kyma changed", Kind: "Kyma", Urgent: true})
		env.RegisterDelayedCallback(func() { require.Equal(t, cancelled, ended, "logic %d", version) }, 3*time.Hour)
		endKyma(env, w, 48*time.Hour)
		env.ExecuteWorkflow(KymaWorkflow, KymaInput{Ref: kymaRef})
		require.NoError(t, env.GetWorkflowError())
		require.Equal(t, 2, w.counts["report"], "at its start, and for the edit, which answers the first kick too")
	}
}
