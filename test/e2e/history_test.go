package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// Events in the histories of a Kyma and its Manifests together: less than the budgets of
// docs/design/workflows-and-signals.md#budgets, for short steps are local activities. On a busy machine some of them
// are taken from a queue, at six events each.
const (
	budgetFirstInstall  = 100
	budgetFurtherModule = 50
	budgetFiftyKicks    = 300
)

// assertHistoryBudgets compares a first installation with its budget. These are counts, so they are stable.
func assertHistoryBudgets(t *testing.T, s *harness.Environment, kyma *v1beta2.Kyma) {
	t.Helper()
	total, parts := s.Events(kyma)
	t.Logf("history events of a first installation: %d (%s)", total, parts)
	modules := len(kyma.Status.Modules)
	require.LessOrEqual(t, total, budgetFirstInstall+(modules-1)*budgetFurtherModule, parts)
}

// recordHistories keeps the histories of a scenario for the replay tests, when asked to by `make record-histories`.
func recordHistories(s *harness.Environment, scenario string, kyma *v1beta2.Kyma) {
	s.T.Helper()
	if os.Getenv("RECORD_HISTORIES") == "" {
		return
	}
	folder := filepath.Join(testfleet.Root(s.T), "test", "replay", "histories", os.Getenv("RECORD_HISTORIES"))
	require.NoError(s.T, os.MkdirAll(folder, 0o755))
	recordHistory(s, filepath.Join(folder, scenario+"-kyma.json"), kick.KymaWorkflowID(kick.RefOf(kyma)))
	for _, m := range s.Manifests(kyma) {
		recordHistory(s, filepath.Join(folder, scenario+"-manifest.json"), kick.ManifestWorkflowID(kick.RefOf(&m)))
	}
}

// recordMixed keeps the history of a run that two builds worked on, when asked to, beside those of one build. It never
// replaces one.
func recordMixed(s *harness.Environment, scenario string, history *historypb.History) {
	s.T.Helper()
	if os.Getenv("RECORD_HISTORIES") == "" {
		return
	}
	path := filepath.Join(testfleet.Root(s.T), "test", "replay", "histories", os.Getenv("RECORD_HISTORIES"), scenario+".json")
	if _, err := os.Stat(path); err == nil {
		s.T.Logf("%s is there already", path)
		return
	}
	writeHistory(s, path, history)
}

func recordHistory(s *harness.Environment, path, id string) {
	s.T.Helper()
	writeHistory(s, path, s.History(id))
}

func writeHistory(s *harness.Environment, path string, history *historypb.History) {
	s.T.Helper()
	content, err := protojson.MarshalOptions{Indent: " "}.Marshal(history)
	require.NoError(s.T, err)
	// A history is published with the code: nothing of the machine that recorded it belongs there.
	host, err := os.Hostname()
	require.NoError(s.T, err)
	text := strings.ReplaceAll(string(content), "@"+host+"@", "@recorder@")
	require.NoError(s.T, os.WriteFile(path, []byte(text+"\n"), 0o644))
}
