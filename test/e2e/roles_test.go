package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/activities/kick"
)

// Watchers and workers in processes of their own: neither gets far alone, and a worker that is gone is replaced
// by another without anybody noticing.
func TestWatchersAndWorkersCanBeProcessesOfTheirOwn(t *testing.T) {
	s := newStage(t, "--role", "watchers")
	s.push("test/modules/sample/1.0.0")
	s.instance.launch()
	s.create(newKyma("split", "sample"))
	s.instance.says("no worker", time.Minute)
	require.False(t, isReady(s.instance.probe))
	kyma := s.kyma("split")
	s.eventually("the watcher has told of the Kyma", 2*time.Minute, func(c *assert.CollectT) {
		assert.Equal(c, map[string]string{kick.KymaWorkflow: "Running"}, s.workflowsOf(kyma))
	})
	begun := pending(s.history(kick.KymaWorkflowID(kick.RefOf(kyma))))
	require.Equal(t, []string{"WorkflowTaskScheduled"}, begun, "who only watches takes no task")
	require.Empty(t, s.kyma("split").Status.State, "nor changes anything")

	first := &instance{t: t, stage: s, flags: []string{"--role", "workers"}}
	t.Cleanup(first.stop)
	first.start()
	s.becomesReady("split", "sample@1.0.0")
	require.Eventually(t, func() bool { return isReady(s.instance.probe) }, time.Minute, 100*time.Millisecond)

	second := &instance{t: t, stage: s, flags: []string{"--role", "workers"}}
	t.Cleanup(second.stop)
	second.start()
	first.kill()
	s.removeKyma("split")
	require.Empty(t, s.ofModule(t, s.remote))
}
