package signals

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/test/harness/temporaltest"
	"github.com/kyma-project/lifecycle-manager/worker"
)

// A build that takes a sleeping run over reads its history first. It continues as new in its first workflow task, before
// anything else is done, and every later replay decides the same.
func TestABuildThatTakesARunOverDoesNothingInIt(t *testing.T) {
	_, temporal := temporaltest.Namespace(t, "takeover")
	t.Cleanup(func() { sdkworker.SetBinaryChecksum("") })
	st := newState()
	ref := kick.Ref{Namespace: "ns", Name: "taken-over", UID: "uid-of-taken-over"}
	id := kick.KymaWorkflowID(ref)
	change := func() {
		t.Helper()
		st.change(ref.UID)
		require.NoError(t, kick.NewSender(temporal, nil, nil).Kyma(t.Context(), ref, kick.Kick{Reason: "changed", Urgent: true}))
		require.Eventually(t, func() bool { return len(st.unseen()) == 0 }, time.Minute, 50*time.Millisecond)
	}

	stop := workAs(t, temporal, "first", quiet(st))
	change()
	var run string
	require.Eventually(t, func() bool { // it sleeps: what was seen has been worked on
		described, err := temporal.DescribeWorkflow(t.Context(), id, "")
		require.NoError(t, err)
		run = described.WorkflowExecution.RunID
		return described.RawResponse.GetPendingWorkflowTask() == nil && len(described.RawResponse.GetPendingActivities()) == 0
	}, time.Minute, 50*time.Millisecond)
	stop()

	t.Cleanup(workAs(t, temporal, "second", quiet(st)))
	change()
	history := historyOf(t, temporal, id, run)
	var tail []enumspb.EventType
	for _, event := range history.GetEvents()[len(history.GetEvents())-2:] {
		tail = append(tail, event.GetEventType())
	}
	require.Equal(t, []enumspb.EventType{enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW}, tail)
	require.Equal(t, []string{"first", "second"}, buildsIn(history))
	replayer := sdkworker.NewWorkflowReplayer()
	worker.RegisterWorkflows(replayer)
	require.NoError(t, replayer.ReplayWorkflowHistory(nil, history))
}

// workAs runs the real workflows with these activities as a build, until what is returned is called.
func workAs(t *testing.T, temporal client.Client, build string, activities map[string]any) (stop func()) {
	t.Helper()
	sdkworker.SetBinaryChecksum(build)
	all := []sdkworker.Worker{sdkworker.New(temporal, kick.ControlPlaneQueue, sdkworker.Options{})}
	worker.RegisterWorkflows(all[0])
	for _, queue := range []string{kick.RemoteQueue, kick.BackgroundQueue, kick.FollowQueue} {
		all = append(all, sdkworker.New(temporal, queue, sdkworker.Options{DisableWorkflowWorker: true}))
	}
	for _, each := range all {
		for name, fn := range activities {
			each.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: name})
		}
		require.NoError(t, each.Start())
	}
	return func() {
		for _, each := range all {
			each.Stop()
		}
	}
}

func historyOf(t *testing.T, temporal client.Client, id, run string) *historypb.History {
	t.Helper()
	read := &historypb.History{}
	for events := temporal.GetWorkflowHistory(t.Context(), id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		event, err := events.Next()
		require.NoError(t, err)
		read.Events = append(read.Events, event)
	}
	return read
}

// buildsIn are the builds that did workflow tasks, in their order.
func buildsIn(history *historypb.History) []string {
	var builds []string
	for _, event := range history.GetEvents() {
		if event.GetEventType() != enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			continue
		}
		build := event.GetWorkflowTaskCompletedEventAttributes().GetWorkerVersion().GetBuildId() //nolint:staticcheck // what workers that are not versioned say
		if len(builds) == 0 || builds[len(builds)-1] != build {
			builds = append(builds, build)
		}
	}
	return builds
}
