package watchers

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	temporal "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/sweep"
)

// forgetful is a Temporal that may have lost its database.
type forgetful struct {
	lost   bool
	down   bool
	starts int
}

func (f *forgetful) EnsureSweeps(context.Context) error {
	if f.down {
		return errBusy
	}
	f.starts, f.lost = f.starts+1, false
	return nil
}

func (f *forgetful) Unknown(context.Context) (bool, error) {
	if f.down {
		return false, errBusy
	}
	return f.lost, nil
}

func TestWorkInProgressIsStartedAgainWhenTemporalLosesItsDatabase(t *testing.T) {
	settled := named("settled", func(k *v1beta2.Kyma) { k.Status.InputsDigest = "now" })
	changed := named("changed", func(k *v1beta2.Kyma) { k.Status.InputsDigest = "before" })
	deleting := named("deleting", func(k *v1beta2.Kyma) {
		k.DeletionTimestamp, k.Finalizers, k.Status.InputsDigest = &metav1.Time{Time: now}, []string{shared.FinalizerKyma}, "now"
	})
	working := manifestWith(func(m *v1beta2.Manifest) { m.Name, m.UID = "working", "working"; m.Status.Settled = false })
	done := manifestWith(func(m *v1beta2.Manifest) {
		m.Name, m.UID = "done", "done"
		m.Status.Settled, m.Status.InputsDigest = true, manifests.InputsDigest(m)
	})
	w, kicks, _ := newWatcher(t, settled, changed, deleting, working, done)
	w.pacer.passed = make(chan event.TypedGenericEvent[kymaRequest], 10)
	at := now
	w.Now = func() time.Time { return at }
	server := &forgetful{}
	w.Sweeps = server
	watch := sweepWatch{watcher: w}
	check := func() error { at = at.Add(checkForLossEvery); return watch.check(t.Context()) }

	require.NoError(t, check())
	require.NoError(t, check())
	require.Equal(t, 1, server.starts, "all sweeps are known")
	require.Empty(t, kicks.sent)

	server.down = true
	require.Error(t, check())
	require.Empty(t, kicks.sent, "a server that does not answer has not lost its database")

	server.down, server.lost = false, true
	require.NoError(t, check())
	require.Equal(t, 2, server.starts, "at once, not after minutes")
	var to []string
	for _, each := range kicks.sent {
		to = append(to, each.to)
	}
	require.ElementsMatch(t, []string{
		"kyma/kcp-system/deleting/deleting", "manifest/kcp-system/working/working",
	}, to, "settled objects are left to the sweep")
	require.Len(t, w.pacer.passed, 1)
	require.Equal(t, "changed", (<-w.pacer.passed).Object.Name)

	require.NoError(t, check())
	require.Len(t, kicks.sent, 2, "once")
	require.Empty(t, w.pacer.passed)
}

// The sweeps' workflow tasks come all the time, and must not delay those of Kymas.
func TestEveryShardHasASweepOnTheQueueOfSweeps(t *testing.T) {
	server := &mocks.Client{}
	started := map[string]bool{}
	onTheirQueue := mock.MatchedBy(func(o temporal.StartWorkflowOptions) bool {
		started[o.ID] = true
		return o.TaskQueue == kick.SweepQueue
	})
	server.On("ExecuteWorkflow", mock.Anything, onTheirQueue, kick.SweepWorkflow, mock.AnythingOfType("sweep.Input")).
		Return(&mocks.WorkflowRun{}, nil)
	require.NoError(t, TemporalSweeps{Temporal: server, Interval: time.Minute, Shards: 8}.EnsureSweeps(t.Context()))
	require.Len(t, started, 8)
}

// The leader starts every sweep every few minutes. A running sweep continues, and an ended sweep is started again.
func TestARunningSweepIsLeftRunningAndAnEndedOneIsStarted(t *testing.T) {
	server := &mocks.Client{}
	asked := map[string]sweep.Input{}
	server.On("ExecuteWorkflow", mock.Anything, mock.Anything, kick.SweepWorkflow, mock.Anything).
		Run(func(args mock.Arguments) {
			o, ok := args.Get(1).(temporal.StartWorkflowOptions)
			require.True(t, ok)
			require.Equal(t, enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING, o.WorkflowIDConflictPolicy)
			require.Equal(t, enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE, o.WorkflowIDReusePolicy)
			require.False(t, o.WorkflowExecutionErrorWhenAlreadyStarted)
			require.NotEmpty(t, o.StaticSummary)
			asked[o.ID], ok = args.Get(3).(sweep.Input)
			require.True(t, ok)
		}).Return(&mocks.WorkflowRun{}, nil)
	require.NoError(t, TemporalSweeps{Temporal: server, Interval: time.Minute, Shards: 8}.EnsureSweeps(t.Context()))
	require.Equal(t, sweep.Input{Shard: 7, Interval: time.Minute, Shards: 8}, asked["sweep/07"])

	down := &mocks.Client{}
	down.On("ExecuteWorkflow", mock.Anything, mock.Anything, mock.Anything, mock.Anything).Return(nil, errors.New("down"))
	require.ErrorContains(t, TemporalSweeps{Temporal: down, Interval: time.Minute, Shards: 8}.EnsureSweeps(t.Context()), "down")
}
