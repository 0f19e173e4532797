// Package replay proves that the workflow code still takes the decisions of recorded histories. Histories
// are recorded from real runs by `make record-histories`, one folder per version of the logic, one file per
// scenario. A change that breaks one needs a version marker (docs/contributing.md).
package replay

import (
	"embed"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/workflows"
)

//go:embed histories
var histories embed.FS

func TestRecordedHistoriesReplay(t *testing.T) {
	files, err := fs.Glob(histories, "histories/*/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files, "there must be recorded histories")
	for _, file := range files {
		t.Run(strings.TrimPrefix(file, "histories/"), func(t *testing.T) {
			require.NoError(t, replayer().ReplayWorkflowHistory(nil, recorded(t, file)))
		})
	}
}

func TestAReplayNoticesAChangedDecision(t *testing.T) {
	files, err := fs.Glob(histories, "histories/*/install-manifest.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	changed := worker.NewWorkflowReplayer()
	changed.RegisterWorkflowWithOptions(func(ctx workflow.Context, _ workflows.ManifestInput) error {
		return workflow.Sleep(ctx, 1)
	}, workflow.RegisterOptions{Name: kick.ManifestWorkflow})
	require.Error(t, changed.ReplayWorkflowHistory(nil, recorded(t, files[0])), "a check that cannot fail is none")
}

func recorded(t *testing.T, file string) *history.History {
	t.Helper()
	content, err := histories.Open(file)
	require.NoError(t, err)
	events, err := client.HistoryFromJSON(content, client.HistoryJSONOptions{})
	require.NoError(t, err)
	require.NoError(t, content.Close())
	return events
}

func replayer() worker.WorkflowReplayer {
	r := worker.NewWorkflowReplayer()
	for name, definition := range map[string]any{
		kick.KymaWorkflow: workflows.KymaWorkflow, kick.ManifestWorkflow: workflows.ManifestWorkflow, kick.SweepWorkflow: workflows.SweepWorkflow,
	} {
		r.RegisterWorkflowWithOptions(definition, workflow.RegisterOptions{Name: name})
	}
	return r
}
