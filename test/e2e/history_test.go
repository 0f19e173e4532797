package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	historypb "go.temporal.io/api/history/v1"
	"golang.org/x/time/rate"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/cluster"
	"github.com/kyma-project/lifecycle-manager/test/harness/histories"
	"github.com/kyma-project/lifecycle-manager/test/harness/process"
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

// An installation is one trace. A Kyma that has settled writes no history, what its process has done shows in the metrics, and
// kicks that come during work cost little.
func TestAKymaIsTracedAndMeasuredAndOnceSettledAddsNoHistory(t *testing.T) {
	address := process.FreeAddress(t)
	traces, variables := startCollector(t)
	s := harness.NewEnvironment(t, "--metrics-bind-address", address)
	s.SweepNever()
	s.Instance.Variables = variables
	s.Push("test/modules/sample/1.0.0")
	s.Instance.Start()
	s.FirstWalkEnds(t)
	s.Create(harness.NewKyma("settled", "sample"))
	s.BecomesReady("settled", "sample@1.0.0")

	t.Run("one trace leads from an event to the objects that are applied", func(t *testing.T) { assertOneTrace(t, s, traces) })
	t.Run("the sweep checks it without waking its workflow", func(t *testing.T) {
		kyma := s.Kyma("settled")
		s.BecomesIdle(kyma)
		remote := s.Remote.AtRest(t)
		before := s.Events(kyma)
		s.Sweeps(t, 3)
		require.Equal(t, before, s.Events(kyma))
		require.Empty(t, cluster.Differences(remote, s.Remote.Versions(t)), "nothing is written to the remote cluster")
	})
	t.Run("its process exports what the page says, under conventional names", func(t *testing.T) { assertExports(t, s, address) })
	t.Run("fifty kicks during an installation stay within the budget", func(t *testing.T) {
		s.RemoveKyma("settled") // which has the cluster
		s.Create(harness.NewKyma("kicked", "sample"))
		assertKicksCostLittle(t, s, s.Kyma("kicked"))
	})
}

// assertKicksCostLittle requires that kicks which come while a Kyma is installed cause no work of their own.
func assertKicksCostLittle(t *testing.T, s *harness.Environment, kyma *v1beta2.Kyma) {
	t.Helper()
	sender := kick.NewSender(s.Temporal, nil, nil)
	// As fast as the watchers' limit lets them, as when many templates are applied at once.
	limit := rate.NewLimiter(50, 1)
	for i := range 50 {
		require.NoError(t, limit.Wait(t.Context()))
		require.NoError(t, sender.Kyma(t.Context(), kick.RefOf(kyma), kick.Kick{Reason: fmt.Sprintf("kick %d", i), Kind: "ModuleTemplate"}))
	}
	s.BecomesReady(kyma.Name, "sample@1.0.0")
	s.BecomesIdle(kyma)
	work := 0
	for _, event := range s.History(kick.KymaWorkflowID(kick.RefOf(kyma))).GetEvents() {
		// A kick that comes during a workflow task is one event, and one that comes between two tasks is four: how many there are of
		// each depends on how fast the machine is. What is done because of them does not.
		if kind := event.GetEventType().String(); kind != "WorkflowExecutionSignaled" && !strings.HasPrefix(kind, "WorkflowTask") {
			work++
		}
	}
	t.Logf("history events of an installation with 50 kicks: %d, without signals and workflow tasks %d", s.Events(kyma), work)
	require.LessOrEqual(t, work, budgetFiftyKicks)
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
