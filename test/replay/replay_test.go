// Package replay proves that the workflow code still takes the decisions of recorded histories, and that the record is
// complete. Histories are recorded from real runs by `make record-histories`, one folder per version of the logic, and in
// it one per scenario with all runs of its workflows (package histories). Files beside those folders are of single runs that
// two builds worked on. A change that breaks one needs a version marker (docs/contributing.md).
package replay

import (
	"embed"
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	record "github.com/kyma-project/lifecycle-manager/test/harness/histories"
	"github.com/kyma-project/lifecycle-manager/worker"
	"github.com/kyma-project/lifecycle-manager/workflows/authority"
	"github.com/kyma-project/lifecycle-manager/workflows/kyma"
	"github.com/kyma-project/lifecycle-manager/workflows/rollout"
	"github.com/kyma-project/lifecycle-manager/workflows/routing"
	"github.com/kyma-project/lifecycle-manager/workflows/sweep"
)

//go:embed histories
var histories embed.FS

func TestRecordedHistoriesReplay(t *testing.T) {
	for _, file := range recorded(t, "histories") {
		t.Run(strings.TrimPrefix(file, "histories/"), func(t *testing.T) {
			require.NoError(t, record.Replay(replayer(), history(t, file)))
		})
	}
}

func TestAReplayNoticesAChangedDecision(t *testing.T) {
	changed := sdk.NewWorkflowReplayer()
	changed.RegisterWorkflowWithOptions(func(ctx workflow.Context, _ kyma.Input) error {
		return workflow.Sleep(ctx, 1)
	}, workflow.RegisterOptions{Name: kick.KymaWorkflow})
	require.Error(t, record.Replay(changed, history(t, path.Join(present, "install", "kyma.1.json"))), "a check that cannot fail is none")
}

// A workflow that is started again by its successor for ever would else pass: each of its runs has the same steps.
func TestAReplayNoticesARunThatEndsInAnotherWay(t *testing.T) {
	otherwise := sdk.NewWorkflowReplayer()
	endsOtherwise(otherwise, kick.KymaWorkflow, kyma.Workflow)
	endsOtherwise(otherwise, kick.SweepWorkflow, sweep.Workflow)
	endsOtherwise(otherwise, kick.WatcherWorkflow, routing.WatcherWorkflow)
	endsOtherwise(otherwise, kick.CertificatesWorkflow, authority.CertificatesWorkflow)
	endsOtherwise(otherwise, kick.RolloutWorkflow, rollout.Workflow)
	seen := map[string]bool{}
	for _, file := range recorded(t, present) {
		events := history(t, file).GetEvents()
		last := events[len(events)-1].GetEventType()
		if last != enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED && last != enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW {
			continue
		}
		seen[typeOf(events)+" "+last.String()] = true
		require.Error(t, record.Replay(otherwise, history(t, file)), file)
	}
	for _, name := range registered() {
		for _, end := range []enumspb.EventType{enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW} {
			if name == kick.CertificatesWorkflow && end == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED {
				continue // it runs for as long as the instance
			}
			require.Contains(t, seen, name+" "+end.String(), "no recorded run ends so")
		}
	}
}

// endsOtherwise registers a workflow that completes where the product's continues as new, and continues as new where that
// completes.
func endsOtherwise[In any](r sdk.WorkflowReplayer, name string, definition func(workflow.Context, In) error) {
	r.RegisterWorkflowWithOptions(func(ctx workflow.Context, in In) error {
		switch err := definition(ctx, in); {
		case workflow.IsContinueAsNewError(err):
			return nil
		case err == nil:
			return workflow.NewContinueAsNewError(ctx, name, in)
		default:
			return err
		}
	}, workflow.RegisterOptions{Name: name})
}

// recorded are the files with histories in a folder and those below it.
func recorded(t *testing.T, folder string) []string {
	t.Helper()
	var files []string
	require.NoError(t, fs.WalkDir(histories, folder, func(file string, _ fs.DirEntry, err error) error {
		if path.Ext(file) == ".json" {
			files = append(files, file)
		}
		return err
	}))
	require.NotEmpty(t, files, "there must be recorded histories")
	return files
}

func history(t *testing.T, file string) *historypb.History {
	t.Helper()
	content, err := histories.Open(file)
	require.NoError(t, err)
	events, err := client.HistoryFromJSON(content, client.HistoryJSONOptions{})
	require.NoError(t, err)
	require.NoError(t, content.Close())
	require.NotEmpty(t, events.GetEvents(), file)
	return events
}

// typeOf is the type of the workflow that has this history.
func typeOf(events []*historypb.HistoryEvent) string {
	return events[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowType().GetName()
}

func replayer() sdk.WorkflowReplayer {
	r := sdk.NewWorkflowReplayer()
	worker.RegisterWorkflows(r)
	return r
}

// names are those under which workflows are registered.
type names []string

func (n *names) RegisterWorkflow(any) {}

func (n *names) RegisterWorkflowWithOptions(_ any, options workflow.RegisterOptions) {
	*n = append(*n, options.Name)
}

func (n *names) RegisterDynamicWorkflow(any, workflow.DynamicRegisterOptions) {}

// registered are the names of all workflows that the product registers.
func registered() []string {
	var all names
	worker.RegisterWorkflows(&all)
	return all
}
