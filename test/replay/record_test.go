package replay

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"

	record "github.com/kyma-project/lifecycle-manager/test/harness/histories"
	"github.com/kyma-project/lifecycle-manager/test/harness/tasks"
	"github.com/kyma-project/lifecycle-manager/workflows"
)

// present is the folder of the present version of the logic.
var present = fmt.Sprintf("histories/v%d", workflows.LogicVersion)

// required are the scenarios of which every version has histories.
var required = []string{
	"install", "upgrade", "deletion", "rollout", "removal", "purge", "update", "failures", "continue-as-new", "new-build", "sweep",
	"certificates", "routing", "module-rollout", "module-rollout-with-people", "module-rollout-promoted", "module-rollout-midway",
}

// mixed are the histories of runs that two builds worked on, one after the other.
var mixed = []string{
	"mixed-forward-kyma", "mixed-forward-sweep", "mixed-back-kyma", "mixed-back-sweep",
}

// expected are the numbers of runs of a version of the logic.
func expected(t *testing.T, folder string) record.Expected {
	t.Helper()
	sub, err := fs.Sub(histories, folder)
	require.NoError(t, err)
	all, err := record.ReadExpected(sub)
	require.NoError(t, err)
	return all
}

func TestEachScenarioAndEachTypeOfWorkflowIsRecordedForThePresentLogic(t *testing.T) {
	counts := expected(t, present)
	types := map[string]bool{}
	for _, scenario := range required {
		require.Contains(t, counts, scenario, "%s has no number of runs", record.ExpectedFile)
		for _, file := range recorded(t, path.Join(present, scenario)) {
			types[typeOf(history(t, file).GetEvents())] = true
		}
	}
	for _, name := range registered() {
		require.Contains(t, types, name)
	}
	for _, name := range mixed {
		done := tasks.Of(history(t, path.Join(present, name+".json")))
		require.Greater(t, len(done.Builds), 1, "builds of %s", name)
		require.Empty(t, done.Failures, name)
	}
}

// A run more or less than expected of a scenario is either another decision or a mistake of the record.
func TestEachScenarioHasTheRunsThatAreExpected(t *testing.T) {
	versions, err := fs.Glob(histories, "histories/*/"+record.ExpectedFile)
	require.NoError(t, err)
	for _, file := range versions {
		folder := path.Dir(file)
		counts := expected(t, folder)
		scenarios, err := fs.Glob(histories, folder+"/*/")
		require.NoError(t, err)
		for _, scenario := range scenarios {
			t.Run(strings.TrimPrefix(scenario, "histories/"), func(t *testing.T) {
				runs := runsByName(t, scenario)
				require.Len(t, runs, len(counts[path.Base(scenario)]), "%s has other workflows", record.ExpectedFile)
				for name, its := range runs {
					require.True(t, counts[path.Base(scenario)][name].Allows(len(its)), "%s has %d runs, %s", name, len(its), counts[path.Base(scenario)][name])
					followOneAnother(t, its)
				}
			})
		}
	}
}

// runsByName are the histories of a scenario's workflows in the order of their numbers, which have no gap.
func runsByName(t *testing.T, scenario string) map[string][][]*historypb.HistoryEvent {
	t.Helper()
	files := map[string][]int{}
	for _, file := range recorded(t, scenario) {
		name, number, found := strings.Cut(strings.TrimSuffix(path.Base(file), ".json"), ".")
		require.True(t, found, file)
		n, err := strconv.Atoi(number)
		require.NoError(t, err, file)
		files[name] = append(files[name], n)
	}
	runs := map[string][][]*historypb.HistoryEvent{}
	for name, numbers := range files {
		slices.Sort(numbers)
		for i, n := range numbers {
			require.Equal(t, i+1, n, "run %d of %s is missing", i+1, name)
			runs[name] = append(runs[name], history(t, path.Join(scenario, fmt.Sprintf("%s.%d.json", name, n))).GetEvents())
		}
	}
	return runs
}

// followOneAnother requires that these are all runs of one workflow between the first and the last of them.
func followOneAnother(t *testing.T, runs [][]*historypb.HistoryEvent) {
	t.Helper()
	for i, run := range runs {
		started, last := run[0].GetWorkflowExecutionStartedEventAttributes(), run[len(run)-1]
		require.Equal(t, runs[0][0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowId(), started.GetWorkflowId())
		next := last.GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
		if i+1 == len(runs) {
			require.Empty(t, next, "the run that follows is missing")
			break
		}
		require.Contains(t, []enumspb.EventType{
			enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW,
		}, last.GetEventType(), "another run follows")
		follows := runs[i+1][0].GetWorkflowExecutionStartedEventAttributes()
		require.False(t, runs[i+1][0].GetEventTime().AsTime().Before(run[0].GetEventTime().AsTime()))
		if next != "" {
			require.Equal(t, next, follows.GetOriginalExecutionRunId())
		}
		require.Equal(t, next != "", follows.GetContinuedExecutionRunId() != "")
	}
}

// A history in the folder of another version would stand for runs that do not exist. What began under the release before
// continues under this one, so that a scenario may have runs of earlier logic too.
func TestHistoriesAreInTheFolderOfTheirLogic(t *testing.T) {
	folders, err := fs.Glob(histories, "histories/*")
	require.NoError(t, err)
	for _, folder := range folders {
		newest := 0
		for _, file := range recorded(t, folder) {
			newest = max(newest, logicOf(t, file))
		}
		require.Equal(t, path.Base(folder), fmt.Sprintf("v%d", newest))
	}
}

// logicOf is the version of the logic that a run began with.
func logicOf(t *testing.T, file string) int {
	t.Helper()
	for _, event := range history(t, file).GetEvents() {
		if marker := event.GetMarkerRecordedEventAttributes(); marker.GetMarkerName() == "SideEffect" { // the first of a run
			var version int
			require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(marker.GetDetails()["data"], &version))
			return version
		}
	}
	require.Fail(t, "no version", file)
	return 0
}
