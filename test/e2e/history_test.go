package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	historypb "go.temporal.io/api/history/v1"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/histories"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// Events in the histories of a Kyma and its Manifests together: less than the budgets of
// docs/design/workflows-and-signals.md#budgets, for short steps are local activities. On a busy machine some of them
// are taken from a queue, at six events each.
const (
	budgetFirstInstall  = 60
	budgetFurtherModule = 15
	budgetFiftyKicks    = 40 // without signals and workflow tasks
)

// assertHistoryBudgets compares a first installation with its budget. These are counts, so they are stable.
func assertHistoryBudgets(t *testing.T, s *harness.Environment, kyma *v1beta2.Kyma) {
	t.Helper()
	total := s.Events(kyma)
	t.Logf("history events of a first installation: %d", total)
	modules := len(kyma.Status.Modules)
	require.LessOrEqual(t, total, budgetFirstInstall+(modules-1)*budgetFurtherModule)
}

// recordMixed keeps the history of a run that two builds worked on for the replay tests, when asked to by
// `make record-histories`, beside those of one build. It never replaces one.
func recordMixed(s *harness.Environment, scenario string, history *historypb.History) {
	s.T.Helper()
	version := os.Getenv("RECORD_HISTORIES")
	if version == "" {
		return
	}
	path := filepath.Join(testfleet.Root(s.T), "test", "replay", "histories", version, scenario+".json")
	if _, err := os.Stat(path); err == nil {
		s.T.Logf("%s is there already", path)
		return
	}
	content, err := histories.Encode(histories.Run{History: history})
	require.NoError(s.T, err)
	require.NoError(s.T, os.WriteFile(path, content, 0o644)) //nolint:gosec // it is published
}
