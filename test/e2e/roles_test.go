package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Watchers and workers in processes of their own: neither gets far alone, and a worker that is gone is replaced
// by another without anybody noticing.
func TestWatchersAndWorkersCanBeProcessesOfTheirOwn(t *testing.T) {
	s := newStage(t, "--role", "watchers")
	s.push("test/modules/sample/1.0.0")
	s.instance.start()
	s.create(newKyma("split", "sample"))
	require.Empty(t, s.kyma("split").Status.State, "who only watches changes nothing")

	first := &instance{t: t, stage: s, flags: []string{"--role", "workers"}}
	t.Cleanup(first.stop)
	first.start()
	s.becomesReady("split", "sample@1.0.0")

	second := &instance{t: t, stage: s, flags: []string{"--role", "workers"}}
	t.Cleanup(second.stop)
	second.start()
	first.kill()
	s.removeKyma("split")
	require.Empty(t, s.ofModule(t, s.remote))
}
