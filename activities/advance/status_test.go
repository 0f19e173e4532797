package advance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
)

func TestEachPhaseHasOneEvent(t *testing.T) {
	first, second, objects := fleetOf()
	r := rolloutTo("1.1.0", func(r *v1beta2.ModuleRollout) {
		r.Spec.Plan.OnFailure = v1beta2.RolloutHold
	})
	b := newBench(t, append(objects, r)...)
	b.step(r)
	require.Equal(t, []string{
		"Normal RolloutProgressed module keda 1.1.0: Progressing, stage canary: the clusters of stage canary to settle",
	}, b.recorded())

	b.now = b.now.Add(time.Minute)
	b.step(r)
	require.Empty(t, b.recorded(), "nothing has changed")

	row(func(m *v1beta2.ModuleStatus) {
		m.State, m.RefusedVersion = shared.StateError, "1.1.0"
		m.Message = `failed to get module template: ModuleTemplate.operator.kyma-project.io "keda-1.1.0" not found`
	})(first)
	require.NoError(t, b.Update(t.Context(), first))
	b.step(r)
	held := b.recorded()
	require.Len(t, held, 1)
	require.Contains(t, held[0], "Warning RolloutHeld module keda 1.1.0: Held, stage canary: 1 of 1 clusters of stage canary failed")
	require.Contains(t, held[0], hint.For(EventRolloutHeld))
	require.NotEmpty(t, hint.For(EventRolloutHeld))

	first.Status.Modules[0].Message += ", nor in any other"
	require.NoError(t, b.Update(t.Context(), first))
	b.step(r)
	require.Len(t, b.writes, 3, "the status shows what it waits for now")
	require.Empty(t, b.recorded(), "the rollout is still held")

	first.Status.Modules = nil
	require.NoError(t, b.Update(t.Context(), first))
	b.upgrade(first, "1.1.0")
	b.step(r)
	require.Equal(t, []string{
		"Normal RolloutProgressed module keda 1.1.0: Progressing, stage rest: the clusters of stage rest to settle",
	}, b.recorded())

	b.upgrade(second, "1.1.0")
	b.step(r)
	require.Equal(t, []string{"Normal RolloutProgressed module keda 1.1.0: Completed"}, b.recorded())
}

func TestANewStageInTheSamePhaseHasAnEvent(t *testing.T) {
	first, _, objects := fleetOf()
	r := rolloutTo("1.1.0")
	b := newBench(t, append(objects, r)...)
	b.step(r)
	b.recorded()
	b.upgrade(first, "1.1.0")
	b.step(r)
	require.Len(t, b.recorded(), 1)
	require.Equal(t, v1beta2.RolloutProgressing, r.Status.Phase)
}

func TestWithoutARecorderThereAreNoEvents(t *testing.T) {
	_, _, objects := fleetOf()
	r := rolloutTo("1.1.0")
	b := newBench(t, append(objects, r)...)
	b.Events = nil
	require.Equal(t, "Progressing", b.step(r).Phase)
}
