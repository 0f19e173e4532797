package kyma

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// A timer that was left running would fire a day later and cause an empty workflow task.
func TestAnInterruptedWaitLeavesNoTimer(t *testing.T) {
	w := quietFixture()
	env := environment(t, w)
	ended := 0
	env.SetOnTimerCanceledListener(func(string) { ended++ })
	kickAt(env, time.Hour, kick.Kick{Reason: "image pull Secret changed", Kind: "Secret", NotBefore: new(env.Now().Add(25 * time.Hour))})
	kickAt(env, 2*time.Hour, kick.Kick{Reason: "Kyma changed", Kind: "Kyma", Urgent: true})
	env.RegisterDelayedCallback(func() { require.Equal(t, 1, ended) }, 3*time.Hour)
	endKyma(env, w, 48*time.Hour)
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 2, w.count("report"), "at the start, and for the edit, which answers the first kick too")
}
