// Package replay proves that the workflow code still takes the decisions that recorded histories hold. Histories
// are recorded from real runs by `make record-histories`, one folder per version of the logic, one file per
// scenario. A change that breaks one needs a version marker (docs/contributing.md).
package replay

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/workflows"
)

func TestRecordedHistoriesReplay(t *testing.T) {
	files, err := filepath.Glob("histories/*/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files, "there must be recorded histories")
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file), func(t *testing.T) {
			require.NoError(t, replayer().ReplayWorkflowHistoryFromJSONFile(nil, file))
		})
	}
}

func TestAReplayNoticesAChangedDecision(t *testing.T) {
	files, err := filepath.Glob("histories/*/install-manifest.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	changed := worker.NewWorkflowReplayer()
	changed.RegisterWorkflowWithOptions(func(ctx workflow.Context, _ workflows.ManifestInput) error {
		return workflow.Sleep(ctx, 1)
	}, workflow.RegisterOptions{Name: kick.ManifestWorkflow})
	require.Error(t, changed.ReplayWorkflowHistoryFromJSONFile(nil, files[0]), "a check that cannot fail is none")
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
