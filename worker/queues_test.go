package worker

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"

	"github.com/kyma-project/lifecycle-manager/activities/background"
	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/purge"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/routing"
	"github.com/kyma-project/lifecycle-manager/activities/status"
	"github.com/kyma-project/lifecycle-manager/activities/sweep"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/activities/uninstall"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
)

var assembled = Options{
	Activities: Activities{
		Background: &background.Activities{}, Resolve: &resolve.Activities{}, Sync: &syncing.Activities{}, Status: &status.Activities{}, Sweep: &sweep.Activities{},
		Manifests: &ManifestActivities{Steps: &manifests.Steps{}, Install: &install.Activities{}, Uninstall: &uninstall.Activities{}, Purge: &purge.Activities{}},
	},
	Slots:       Slots{Workflow: 16, ControlPlane: 10, Remote: 20, Background: 3, Sweep: 8},
	StopTimeout: 20 * time.Second,
}

func TestEachQueueHasItsOwnSlotsAndActivities(t *testing.T) {
	want := map[string]struct {
		slots      int
		workflows  bool
		beats      bool
		activities []string
	}{
		"lifecycle-manager-control-plane": {0, true, true, []string{
			"ResolveKyma", "DeleteManifests", "ReportKyma", "ReleaseKyma", "ReportManifest", "AdmitPurge", "SyncRemote",
			"InstallModules", "ReportModules",
		}},
		"lifecycle-manager-remote": {20, false, true, []string{
			"SyncRemote", "CleanupRemote", "CleanUpAndRelease", "ReportKyma", "ReportModules",
			"ApplyManifest", "EnsureDefaultCR", "RemoveManifest", "PurgeManifest",
		}},
		"lifecycle-manager-follow":     {0, false, true, []string{"FollowModules", "WaitRemoval"}},
		"lifecycle-manager-background": {0, false, true, []string{"ReconcileInBackground"}},
		"lifecycle-manager-sweep":      {8, true, false, []string{"WalkShard"}},
	}
	queues := (&Workers{}).queues(assembled)
	require.Len(t, queues, len(want))
	for _, q := range queues {
		require.Contains(t, want, q.name)
		expected := want[q.name]
		require.Equal(t, expected.slots, q.options.MaxConcurrentActivityExecutionSize, q.name)
		require.Equal(t, expected.workflows, !q.options.DisableWorkflowWorker, q.name)
		if q.name == "lifecycle-manager-control-plane" {
			require.Equal(t, 10, q.options.Tuner.GetActivityTaskSlotSupplier().MaxSlots())
			require.Equal(t, 16, q.options.Tuner.GetWorkflowTaskSlotSupplier().MaxSlots(), "otherwise steps within workflow tasks delay each other")
			require.Contains(t, q.options.Interceptors, q.options.Tuner.GetWorkflowTaskSlotSupplier(), "the supplier counts modules")
			// A single kind of poller would prefer the tasks of sleeping workflows, and new ones would wait.
			require.Equal(t, worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{
				MinimumNumberOfPollers: 2, InitialNumberOfPollers: 4, MaximumNumberOfPollers: 4,
			}), q.options.WorkflowTaskPollerBehavior, "else polls for sleeping workflows hold the slots of new ones")
			require.Equal(t, stickyTimeout, q.options.StickyScheduleToStartTimeout, "otherwise a busy process loses its workflows to the shared queue")
		}
		if q.name == "lifecycle-manager-background" {
			slots := q.options.Tuner.GetActivityTaskSlotSupplier()
			for range 3 {
				require.NotNil(t, slots.TryReserveSlot(nil))
			}
			require.Nil(t, slots.TryReserveSlot(nil), "only three may not be waiting for their clusters")
			require.Equal(t, 20, slots.MaxSlots(), "including waiting ones, as many as other work on clusters")
		}
		require.Equal(t, 20*time.Second, q.options.WorkerStopTimeout, q.name)
		require.Less(t, q.options.MaxHeartbeatThrottleInterval, 10*time.Second, "%s: a lost connection is noticed in time", q.name)
		beats := false
		for _, each := range q.options.Interceptors {
			_, ok := each.(*heartbeats)
			beats = beats || ok
		}
		// A walk sends its cursor with each heartbeat. An empty heartbeat would erase the cursor.
		require.Equal(t, expected.beats, beats, "%s: every activity must send heartbeats, and stop if they fail", q.name)
		var names []string
		for _, each := range q.activities {
			names = append(names, methodName(each))
		}
		require.ElementsMatch(t, expected.activities, names, q.name)
	}
}

// If events are switched off, no worker serves Watchers.
func TestWatchersAreServedIfEventsAreSwitchedOn(t *testing.T) {
	options := assembled
	options.Activities.Routing = &routing.Activities{}
	var names []string
	for _, each := range (&Workers{}).queues(options)[0].activities {
		names = append(names, methodName(each))
	}
	require.Contains(t, names, "ReconcileWatcher", "the workflows' worker attempts it as a local activity")
}

func methodName(method any) string {
	name := runtime.FuncForPC(reflect.ValueOf(method).Pointer()).Name()
	return strings.TrimSuffix(name[strings.LastIndex(name, ".")+1:], "-fm")
}

// registered records how workflows are registered.
type registered struct {
	worker.WorkflowRegistry
	behaviors map[string]workflow.VersioningBehavior
}

func (r *registered) RegisterWorkflowWithOptions(_ any, o workflow.RegisterOptions) {
	r.behaviors[o.Name] = o.VersioningBehavior
}

// A sleeping run lives longer than any build. If it were pinned, it would hang when the workers of its build are
// gone.
func TestEveryWorkflowContinuesWithTheNewestBuild(t *testing.T) {
	r := &registered{behaviors: map[string]workflow.VersioningBehavior{}}
	RegisterWorkflows(r)
	require.Equal(t, map[string]workflow.VersioningBehavior{
		"KymaWorkflow":  workflow.VersioningBehaviorAutoUpgrade,
		"SweepWorkflow": workflow.VersioningBehaviorAutoUpgrade, "WatcherWorkflow": workflow.VersioningBehaviorAutoUpgrade,
		"CertificatesWorkflow": workflow.VersioningBehaviorAutoUpgrade, "RolloutWorkflow": workflow.VersioningBehaviorAutoUpgrade,
	}, r.behaviors)
}

func TestWorkersNeedNoLeaderElection(t *testing.T) {
	require.False(t, (&Workers{}).NeedLeaderElection())
}

// namespace is a fake Temporal namespace with search attributes.
type namespace struct {
	operatorservice.OperatorServiceClient
	known map[string]enumspb.IndexedValueType
	added []map[string]enumspb.IndexedValueType
	err   error
}

func (n *namespace) ListSearchAttributes(context.Context, *operatorservice.ListSearchAttributesRequest, ...grpc.CallOption) (*operatorservice.ListSearchAttributesResponse, error) {
	return &operatorservice.ListSearchAttributesResponse{CustomAttributes: n.known}, n.err
}

func (n *namespace) AddSearchAttributes(_ context.Context, in *operatorservice.AddSearchAttributesRequest, _ ...grpc.CallOption) (*operatorservice.AddSearchAttributesResponse, error) {
	n.added = append(n.added, in.GetSearchAttributes())
	return &operatorservice.AddSearchAttributesResponse{}, nil
}

func (n *namespace) client() client.Client {
	c := &mocks.Client{}
	c.On("OperatorService").Return(n)
	return c
}

func TestMissingSearchAttributesAreRegistered(t *testing.T) {
	const keyword = enumspb.INDEXED_VALUE_TYPE_KEYWORD
	all := map[string]enumspb.IndexedValueType{
		"KymaName": keyword, "KymaState": keyword, "KymaChannel": keyword, "RemoteCluster": keyword,
		"FailingModules": enumspb.INDEXED_VALUE_TYPE_KEYWORD_LIST,
	}
	require.Less(t, len(all), 10, "SQL visibility has room for ten keywords and three lists per namespace")

	refused := func(n *namespace) error {
		_, err := EnsureSearchAttributes(t.Context(), n.client(), "ns")
		return err
	}
	ensure := func(n *namespace) {
		t.Helper()
		registered, err := EnsureSearchAttributes(t.Context(), n.client(), "ns")
		require.NoError(t, err)
		require.Equal(t, len(n.added) > 0, registered)
	}

	fresh := &namespace{}
	ensure(fresh)
	require.Equal(t, []map[string]enumspb.IndexedValueType{all}, fresh.added)

	partly := &namespace{known: map[string]enumspb.IndexedValueType{"KymaName": keyword, "Theirs": enumspb.INDEXED_VALUE_TYPE_INT}}
	ensure(partly)
	require.Len(t, partly.added, 1)
	require.Len(t, partly.added[0], 4)
	require.NotContains(t, partly.added[0], "KymaName")

	whole := &namespace{known: all}
	ensure(whole)
	require.Empty(t, whole.added, "a process without the right to change a namespace can use a prepared one")

	other := &namespace{known: map[string]enumspb.IndexedValueType{"KymaState": enumspb.INDEXED_VALUE_TYPE_TEXT}}
	require.ErrorContains(t, refused(other), "KymaState")
	require.Empty(t, other.added)

	down := &namespace{err: errors.New("down")}
	require.ErrorContains(t, refused(down), "down")
}
