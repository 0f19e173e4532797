package worker

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/persistent"
	"github.com/kyma-project/lifecycle-manager/worker/taskqueues"
)

// linkBench is a link to a fake Temporal.
type linkBench struct {
	*Link
	ns *namespace
	// idle is how long no worker has polled a task queue.
	idle   map[string]time.Duration
	silent error
	// waiting is the number of tasks in every queue. waitingFor is the age of the oldest.
	waiting    int64
	waitingFor time.Duration
	lines      []string
	clock      time.Time
}

func (b *linkBench) OperatorService() operatorservice.OperatorServiceClient { return b.ns }

func (b *linkBench) WorkflowService() workflowservice.WorkflowServiceClient { return taskQueues{b: b} }

// taskQueues answers DescribeTaskQueue requests.
type taskQueues struct {
	workflowservice.WorkflowServiceClient
	b *linkBench
}

func (q taskQueues) DescribeTaskQueue(_ context.Context, in *workflowservice.DescribeTaskQueueRequest, _ ...grpc.CallOption) (*workflowservice.DescribeTaskQueueResponse, error) {
	at := q.b.clock.Add(-q.b.idle[in.GetTaskQueue().GetName()+" "+in.GetTaskQueueType().String()])
	out := &workflowservice.DescribeTaskQueueResponse{Pollers: []*taskqueue.PollerInfo{{LastAccessTime: timestamppb.New(at)}}}
	if in.GetReportStats() && in.GetNamespace() == "ns" {
		out.Stats = &taskqueue.TaskQueueStats{ApproximateBacklogCount: q.b.waiting, ApproximateBacklogAge: durationpb.New(q.b.waitingFor)}
	}
	return out, nil
}

func (b *linkBench) QueryWorkflow(context.Context, string, string, string, ...any) (converter.EncodedValue, error) {
	return nil, b.silent
}

func newLinkBench(t *testing.T, works bool) *linkBench {
	t.Helper()
	b := &linkBench{ns: &namespace{}, idle: map[string]time.Duration{}, clock: time.Now()}
	log := funcr.New(func(_, args string) { b.lines = append(b.lines, args) }, funcr.Options{})
	var err error
	b.Link, err = NewLink(b, "ns", works, prometheus.NewRegistry(), log)
	require.NoError(t, err)
	b.now = func() time.Time { return b.clock }
	return b
}

// checks checks the link once. Afterwards probe, metric and log must agree.
func (b *linkBench) checks(t *testing.T) error {
	t.Helper()
	found := b.check(t.Context())
	require.Equal(t, found, b.Check(nil))
	up := 1.0
	if found != nil {
		up = 0
		require.Contains(t, b.lines[len(b.lines)-1], found.Error())
	}
	require.InDelta(t, up, testutil.ToFloat64(b.metrics.Up), 0)
	return found
}

func TestAProcessIsReadyWhileWorkCanBeDone(t *testing.T) {
	b := newLinkBench(t, true)
	require.Error(t, b.Check(nil), "unknown before the first check")
	require.NoError(t, b.checks(t))
	require.NoError(t, b.checks(t))
	require.Len(t, b.lines, 1, "one line per change")

	b.ns.err = errors.New("connection refused")
	require.ErrorContains(t, b.checks(t), "connection refused")
	require.ErrorContains(t, b.checks(t), "connection refused")
	require.Len(t, b.lines, 2)
	b.ns.err = nil
	require.NoError(t, b.checks(t))
	require.Len(t, b.lines, 3)
}

func TestStartingWorkersAreNotReportedAsAProblem(t *testing.T) {
	unpolled := func(t *testing.T, works bool) *linkBench {
		t.Helper()
		b := newLinkBench(t, works)
		for _, q := range taskqueues.All() {
			b.idle[q.Name+" Workflow"], b.idle[q.Name+" Activity"] = time.Hour, time.Hour
		}
		require.ErrorIs(t, b.checks(t), taskqueues.ErrNoWorker, "the process is not ready")
		return b
	}
	since := func(b *linkBench) time.Time {
		at, _ := b.Problem()
		return at
	}
	b := unpolled(t, true)
	require.Zero(t, since(b))
	b.clock = b.clock.Add(startsWithin)
	require.Error(t, b.checks(t))
	require.Equal(t, b.clock, since(b), "the workers had enough time to start")
	require.NotZero(t, since(unpolled(t, false)), "the workers of other processes get no extra time")
}

func TestProblemReturnsSinceWhenNoWorkCanBeDone(t *testing.T) {
	b := newLinkBench(t, true)
	since, problem := b.Problem()
	require.Error(t, problem)
	require.Zero(t, since, "no check yet")
	b.ns.err = errors.New("connection refused")
	require.Error(t, b.checks(t))
	began := b.clock
	b.clock = b.clock.Add(time.Minute)
	b.ns.err = errors.New("no route to host")
	require.Error(t, b.checks(t))
	since, problem = b.Problem()
	require.ErrorContains(t, problem, "no route to host")
	require.Equal(t, began, since)
	b.ns.err = nil
	require.NoError(t, b.checks(t))
	since, problem = b.Problem()
	require.NoError(t, problem)
	require.Equal(t, b.clock, since)
}

func TestATaskQueueWithoutPollersIsReported(t *testing.T) {
	for queue, says := range map[string]string{
		"lifecycle-manager-control-plane Workflow": "no worker polls the task queue lifecycle-manager-control-plane for workflow tasks",
		"lifecycle-manager-remote Activity":        "no worker polls the task queue lifecycle-manager-remote for activity tasks",
		"lifecycle-manager-sweep Activity":         "no worker polls the task queue lifecycle-manager-sweep for activity tasks",
	} {
		t.Run(queue, func(t *testing.T) {
			b := newLinkBench(t, true)
			b.idle[queue] = time.Minute
			require.NoError(t, b.checks(t), "an idle poll lasts a minute")
			b.idle[queue] = 2 * time.Minute
			require.EqualError(t, b.checks(t), says)
			b.idle[queue] = 0
			require.NoError(t, b.checks(t))
		})
	}
}

// Processes start one after the other. A worker that polls a few seconds later is no error in the log.
func TestMissingWorkersAreAnErrorOnlyIfTheyStayMissing(t *testing.T) {
	b := newLinkBench(t, true)
	b.idle["lifecycle-manager-remote Activity"] = 2 * time.Minute
	require.Error(t, b.checks(t))
	b.clock = b.clock.Add(persistent.After - time.Second)
	require.Error(t, b.checks(t))
	require.Len(t, b.lines, 1)
	require.NotContains(t, b.lines[0], `"error"=`)
	b.clock = b.clock.Add(time.Second)
	require.Error(t, b.checks(t))
	require.Len(t, b.lines, 2)
	require.Contains(t, b.lines[1], `"error"="no worker polls the task queue lifecycle-manager-remote for activity tasks"`)
	b.ns.err = errors.New("connection refused")
	require.Error(t, b.checks(t))
	require.Contains(t, b.lines[2], `"error"=`)

	unusable := newLinkBench(t, true)
	unusable.ns.err = errors.New("connection refused")
	require.Error(t, unusable.checks(t))
	require.Contains(t, unusable.lines[0], `"error"=`, "a problem with Temporal does not end by itself")
}

// The server remembers pollers for minutes. Only an answer shows that a worker is running.
func TestAProcessWithoutWorkersNoticesMissingWorkersWithinHalfAMinute(t *testing.T) {
	for name, silent := range map[string]error{
		"no answer in time": serviceerror.NewDeadlineExceeded("context deadline exceeded"),
		"no recent poller":  serviceerror.NewFailedPrecondition("no poller seen for task queue recently"),
	} {
		t.Run(name, func(t *testing.T) {
			b := newLinkBench(t, false)
			require.NoError(t, b.checks(t))
			b.silent = silent
			require.NoError(t, b.checks(t), "one failure may be chance")
			require.EqualError(t, b.checks(t), "no worker answers on the task queue lifecycle-manager-sweep")
			require.Less(t, 2*(checkEvery+checkTimeout), 31*time.Second)
			b.silent = serviceerror.NewNotFound("the sweeps were not started yet")
			require.NoError(t, b.checks(t))
		})
	}
	working := newLinkBench(t, true)
	working.silent = serviceerror.NewDeadlineExceeded("busy")
	for range 3 {
		require.NoError(t, working.checks(t), "a process with workers does not need to query")
	}
}

func TestSearchAttributesThatTemporalLostAreRegisteredAgain(t *testing.T) {
	b := newLinkBench(t, true)
	require.NoError(t, b.checks(t))
	require.NoError(t, b.checks(t))
	require.Len(t, b.lines, 1, "the first registration is no error, nor is a server that does not list the attributes yet")
	b.ns.known = b.ns.added[0]
	require.NoError(t, b.checks(t))
	require.Len(t, b.ns.added, 2)

	b.ns.known = nil // a new database
	require.NoError(t, b.checks(t))
	require.Len(t, b.ns.added, 3)
	require.Contains(t, b.lines[1], "database was lost or replaced")
}

func TestTheBacklogOfTaskQueuesIsMeasured(t *testing.T) {
	b := newLinkBench(t, true)
	b.waiting, b.waitingFor = 7, 90*time.Second
	require.NoError(t, b.checks(t))
	require.Equal(t, len(taskqueues.All()), testutil.CollectAndCount(b.metrics.BacklogAge))
	require.InDelta(t, 90, testutil.ToFloat64(b.metrics.BacklogAge.WithLabelValues(kick.RemoteQueue, "activity")), 0)
	require.InDelta(t, 7, testutil.ToFloat64(b.metrics.BacklogTasks.WithLabelValues(kick.RemoteQueue, "activity")), 0)
	b.waiting, b.waitingFor = 0, 0
	require.NoError(t, b.checks(t))
	require.Zero(t, testutil.ToFloat64(b.metrics.BacklogAge.WithLabelValues(kick.RemoteQueue, "activity")))
}
