package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/test/harness/histories"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
	"github.com/kyma-project/lifecycle-manager/workflows"
)

// recordVariable is set by `make record-histories` to the version of the logic, such as v1.
const recordVariable = "RECORD_HISTORIES"

// AssertRuns requires that the workflows of a scenario, ids by name, have as many runs as is expected of the scenario
// (histories.ExpectedFile of the present version of the logic), and records all their runs for test/replay when asked to by
// `make record-histories`. Call it when nothing remains to be done for them: a run that begins later is not noticed.
func (s *Environment) AssertRuns(scenario string, ids map[string]string) {
	s.T.Helper()
	version := fmt.Sprintf("v%d", workflows.LogicVersion)
	folder := filepath.Join(testfleet.Root(s.T), "test", "replay", "histories", version)
	expected, err := histories.ReadExpected(os.DirFS(folder))
	require.NoError(s.T, err)
	require.Len(s.T, ids, len(expected[scenario]), "%s does not have just these workflows of scenario %s", histories.ExpectedFile, scenario)
	all := map[string][]histories.Run{}
	for name, id := range ids {
		all[name] = s.runs(scenario+", "+name, id, expected[scenario][name])
	}
	if record := os.Getenv(recordVariable); record != "" {
		require.Equal(s.T, version, record, "only the present version of the logic can be recorded")
		recorded, err := histories.Write(folder, scenario, all)
		require.NoError(s.T, err)
		s.T.Logf("histories of scenario %s recorded: %t (those that are there are not recorded over)", scenario, recorded)
	}
}

// runs reads all runs of a workflow, of which there have to be so many. It waits for Temporal's visibility, which may be
// behind, and prints the runs where there are others.
func (s *Environment) runs(what, id string, count histories.Count) []histories.Run {
	s.T.Helper()
	var found []histories.Run
	err := wait.PollUntilContextTimeout(s.T.Context(), 200*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		runs, err := histories.Read(ctx, s.Temporal, id)
		if errors.Is(err, histories.ErrBehind) {
			return false, nil
		}
		found = runs
		return count.Allows(len(found)) || count.Exceeds(len(found)), err
	})
	if err != nil || !count.Allows(len(found)) {
		lines := make([]string, len(found))
		for i, run := range found {
			lines[i] = "\n  " + run.String()
		}
		s.explain()
		require.Failf(s.T, "another number of runs", "%s: %s is expected, but workflow %s has %d (error: %v):%s", what, count, id, len(found), err, strings.Join(lines, ""))
	}
	return found
}

// WorkflowIDs are the ids of the workflows of a Kyma by the names that their histories have in a scenario.
func (s *Environment) WorkflowIDs(kyma *v1beta2.Kyma) map[string]string {
	s.T.Helper()
	return map[string]string{"kyma": kick.KymaWorkflowID(kick.RefOf(kyma))}
}
