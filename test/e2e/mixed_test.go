package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/cluster"
	"github.com/kyma-project/lifecycle-manager/test/harness/tasks"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// settlesWithin is how long the fleet may take to reach the last intents, with all that waits for its next attempt.
const settlesWithin = 5 * time.Minute

// mixedRun is a fleet that two builds work on, under a load of changing intents.
type mixedRun struct {
	*harness.Environment
	t         *testing.T
	random    *rand.Rand
	processes []*mixedProcess
	kymas     []*mixedKyma
	catalog   *mixedCatalog
	updates   sync.WaitGroup
}

// The previous release (test/previous) and this one work on one fleet, side by side and one after the other, forward and
// back, while intents change, versions are rolled out in stages, and processes of either are killed. Whatever happens, every workflow task succeeds, every
// Kyma gets what was last asked for, and nothing remains of those that are deleted. What happens is chosen at random:
// MIXED_SEED repeats a choice, though not its timing. Without it, only a sample of the changes is made.
func TestThePreviousReleaseAndThisOneWorkOnOneFleet(t *testing.T) {
	testfleet.Previous(t)
	seed, sample := mixedSeed(t)
	m := &mixedRun{t: t, Environment: harness.NewMultiClusterEnvironment(t)}
	m.random = rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // not for secrets
	m.SweepOften()                            // some changes of the load are found by passes only
	m.addProcesses()
	m.catalog = m.newCatalog()
	m.addKymas()

	m.run("the previous release", previousBuild, previousBuild)
	m.createKymas()
	m.load(20 / sample)
	m.rollOut() // which soaks while processes are replaced
	m.run("both, on the way forward", previousBuild, thisBuild)
	m.mix(10 / sample)
	m.rollOut()
	m.run("this release", thisBuild, thisBuild)
	m.load(20 / sample)
	m.rollOut()
	m.run("both, on the way back", thisBuild, previousBuild)
	m.mix(10 / sample)
	m.run("the previous release again", previousBuild, previousBuild)
	m.load(20 / sample)
	m.keepBusy(previousVersion)
	m.rollOut()
	m.Eventually("a rollout is worked on by the previous release", settlesWithin, func(c *assert.CollectT) {
		m.requireLastBuild(c, previousVersion, fmt.Sprintf("WorkflowType = '%s'", kick.RolloutWorkflow))
	})
	m.run("this release again", thisBuild, thisBuild)
	m.desire(m.kymas[0], shared.StateReady)
	m.load(20 / sample)
	m.settle() // not before: 0.1.0 does not notice a removal that nobody saw while no process led
	m.writeNothing(previousBuild)
	m.writeNothing(thisBuild)
	m.run("both, while all Kymas are deleted", previousBuild, thisBuild)
	m.delete()
	m.checkRuns()
}

// defaultSeed keeps what is done the same from run to run: a failure must be that of the change that is tested.
const defaultSeed = 1

// mixedSeed returns the seed, and by how much fewer changes are made than `make nightly` makes.
func mixedSeed(t *testing.T) (seed uint64, sample int) {
	t.Helper()
	given := os.Getenv("MIXED_SEED")
	if given == "" {
		return defaultSeed, 2
	}
	seed, err := strconv.ParseUint(given, 10, 64)
	require.NoError(t, err, "MIXED_SEED")
	t.Logf("MIXED_SEED=%d", seed)
	return seed, 1
}

// load changes intents so many times.
func (m *mixedRun) load(changes int) {
	m.t.Helper()
	for range changes {
		m.change()
		m.checkProcesses()
		m.pause()
	}
}

// mix does the same, and so many times kills a process, and starts either build in its place. Meanwhile a module is not
// ready, so that the work on it goes from process to process: on others it takes seconds, and few are killed during that.
func (m *mixedRun) mix(kills int) {
	m.t.Helper()
	for range kills {
		m.desire(m.kymas[0], shared.StateProcessing)
		m.load(5)
		m.replace(m.random.IntN(len(m.processes)), m.random.IntN(2) == 0)
	}
	m.desire(m.kymas[0], shared.StateReady)
}

// pause waits for a moment.
func (m *mixedRun) pause() {
	time.Sleep(time.Duration(m.random.IntN(600)) * time.Millisecond)
}

// settle waits until every Kyma has what was last asked for, and nothing else is in any cluster.
func (m *mixedRun) settle() {
	m.t.Helper()
	m.updates.Wait()
	began := time.Now()
	m.Eventually("every Kyma has its last intent", settlesWithin, func(c *assert.CollectT) {
		require.NoError(c, m.revive())
		all := true
		for _, k := range m.kymas {
			all = m.hasItsIntent(c, k) && all
		}
		for number := 0; all && number < len(m.Remotes); number++ { // which takes longer to read
			assert.ElementsMatch(c, m.wanted(number), installed(m.t, m.Remotes[number]), "cluster %d", number)
		}
	})
	m.t.Logf("settled after %s", time.Since(began).Round(time.Second))
	m.checkProcesses()
}

// writeNothing checks that a build which takes a settled fleet over from the other one writes nothing into any cluster.
func (m *mixedRun) writeNothing(previous bool) {
	m.t.Helper()
	before := make([]map[string]string, len(m.Remotes))
	for number, remote := range m.Remotes {
		before[number] = remote.AtRest(m.t)
	}
	for _, p := range m.processes {
		p.checkTasks()
		p.Stop() // which tells Temporal that nobody is to wait for it
	}
	m.run("the other build, on a settled fleet", previous, previous)
	m.Sweeps(m.t, 1)
	for number, remote := range m.Remotes {
		require.Empty(m.t, cluster.Differences(before[number], remote.Versions(m.t)), "cluster %d, previous release: %t", number, previous)
	}
}

// hasItsIntent asserts that a Kyma is Ready with exactly what was last asked for, or gone.
func (m *mixedRun) hasItsIntent(c *assert.CollectT, k *mixedKyma) bool {
	if !k.exists {
		return assert.True(c, m.IsGone(harness.NewKyma(k.name)), "Kyma %s is deleted", k.name)
	}
	found := m.Kyma(k.name)
	var have []string
	for _, module := range found.Status.Modules {
		as := module.Name + "@" + module.Version
		if module.State != shared.StateReady {
			as += fmt.Sprintf(" %s: %s", module.State, module.Message)
		}
		have = append(have, as)
	}
	return assert.ElementsMatch(c, m.catalog.versionsOf(k), have, "modules of Kyma %s", k.name) && assert.Equal(c, shared.StateReady, found.Status.State, "Kyma %s", k.name)
}

// delete deletes all Kymas, of which nothing may remain.
func (m *mixedRun) delete() {
	m.t.Helper()
	for _, k := range m.kymas {
		if k.exists {
			require.NoError(m.t, m.ControlPlane.Delete(m.t.Context(), harness.NewKyma(k.name)))
			k.exists = false
		}
	}
	m.Eventually("nothing remains of any Kyma", settlesWithin, func(c *assert.CollectT) {
		var kymas v1beta2.KymaList
		require.NoError(c, m.ControlPlane.List(m.t.Context(), &kymas))
		assert.Empty(c, kymas.Items, "Kymas")
		var manifests v1beta2.ManifestList
		require.NoError(c, m.ControlPlane.List(m.t.Context(), &manifests))
		assert.Empty(c, manifests.Items, "Manifests")
		for number, remote := range m.Remotes {
			assert.Empty(c, installed(m.t, remote), "cluster %d", number)
		}
		require.NoError(c, m.revive())
		for _, run := range m.Runs("ExecutionStatus = 'Running'") {
			assert.NotEqual(c, kick.KymaWorkflow, run.Type, "workflow %s runs still", run.ID)
		}
	})
	for number := range m.Remotes {
		require.Empty(m.t, m.At(number).RemoteKymas(m.t))
	}
	for _, k := range m.kymas {
		if !k.byOwner {
			m.RemoveNamespaces(m.Remotes[k.remote], k.namespace) // which stay with the clusters' owners
		}
	}
	for _, p := range m.processes {
		p.checkTasks()
	}
}

// checkRuns requires that both builds worked, also on the same runs of each workflow.
func (m *mixedRun) checkRuns() {
	m.t.Helper()
	candidates := map[string]*historypb.History{}
	mixed := bothWorked(m.Environment, func(run harness.Run, record tasks.Record, history *historypb.History) {
		if len(record.Builds) > 1 {
			keepLonger(candidates, scenarioOf(run.Type, record.Builds), history)
		}
	})
	for _, workflow := range []string{kick.KymaWorkflow, kick.SweepWorkflow, kick.RolloutWorkflow} {
		require.Positive(m.t, mixed[workflow], "both have worked on the same run of %s", workflow)
	}
	for scenario, history := range candidates {
		recordMixed(m.Environment, scenario, history)
	}
}

// bothWorked reads the histories of all runs that there were: no workflow task failed, no run ended otherwise than it should,
// and both builds worked. It returns on how many runs of each workflow both did. each is called with every run.
func bothWorked(s *harness.Environment, each func(harness.Run, tasks.Record, *historypb.History)) (mixed map[string]int) {
	s.T.Helper()
	byBuild, byType := map[string]int{}, map[string]int{}
	mixed = map[string]int{}
	for _, run := range s.Runs("") {
		assert.NotContains(s.T, []enums.WorkflowExecutionStatus{
			enums.WORKFLOW_EXECUTION_STATUS_FAILED, enums.WORKFLOW_EXECUTION_STATUS_TERMINATED, enums.WORKFLOW_EXECUTION_STATUS_TIMED_OUT, enums.WORKFLOW_EXECUTION_STATUS_CANCELED,
		}, run.Status, "run %s of %s", run.RunID, run.ID)
		byType[run.Type]++
		history := s.HistoryOf(run)
		record := tasks.Of(history)
		for _, failure := range record.Failures {
			s.T.Errorf("run %s of %s: %s", run.RunID, run.ID, failure)
		}
		for _, build := range record.Builds {
			byBuild[build]++
		}
		if len(record.Builds) > 1 {
			mixed[run.Type]++
		}
		each(run, record, history)
	}
	s.T.Logf("runs: %v; with tasks of each build: %v; with tasks of both: %v", byType, byBuild, mixed)
	require.Positive(s.T, byBuild[previousVersion], "the previous release has done workflow tasks")
	require.Positive(s.T, byBuild[thisVersion], "this release has done workflow tasks")
	return mixed
}

// scenarioOf names what a run that both builds worked on shows: who took over from whom, or both in turn.
func scenarioOf(workflow string, builds []string) string {
	how := "forward"
	if len(builds) > 2 {
		how = "alternating"
	} else if builds[0] == thisVersion {
		how = "back"
	}
	return "mixed-" + how + "-" + strings.ToLower(strings.TrimSuffix(workflow, "Workflow"))
}

// keepLonger keeps the longer history of a scenario.
func keepLonger(kept map[string]*historypb.History, scenario string, history *historypb.History) {
	if len(history.GetEvents()) > len(kept[scenario].GetEvents()) {
		kept[scenario] = history
	}
}
