package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	temporal "go.temporal.io/sdk/client"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/sweep"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/fleets"
	"github.com/kyma-project/lifecycle-manager/test/harness/process"
	"github.com/kyma-project/lifecycle-manager/test/harness/proxy"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
	kymaflow "github.com/kyma-project/lifecycle-manager/workflows/kyma"
)

// A Kyma whose module is installed, upgraded and removed, in order or by force, has one run in all its life.
func TestInstallationUpgradeAndRemovalTakeOneRunEach(t *testing.T) {
	metrics := process.FreeAddress(t)
	s := harness.NewEnvironment(t, "--purge-orderly-attempt", "2s", "--metrics-bind-address", metrics)
	s.SweepNever() // else how many runs there are would depend on when a pass comes
	s.Push("test/modules/sample/1.0.0")
	s.Push("test/modules/sample/1.1.0")
	s.Instance.Start()
	install := func(t *testing.T, kyma *v1beta2.Kyma) map[string]string {
		t.Helper()
		s.Create(kyma)
		s.BecomesReady(kyma.Name, "sample@1.0.0")
		staysIdle(t, s, kyma, sweep.DefaultShards)
		return s.WorkflowIDs(kyma)
	}
	workflowEnds := func(t *testing.T, kyma *v1beta2.Kyma) {
		t.Helper()
		s.Eventually("the workflow is closed", 2*time.Minute, func(c *assert.CollectT) {
			assert.Equal(c, "Completed", s.WorkflowOf(kyma))
		})
	}

	t.Run("the upgrade of a module, and its removal once it is listed no more", func(t *testing.T) {
		kyma := harness.NewKyma("removed", "sample")
		ids := install(t, kyma)
		shard := sweep.ShardOf(kyma.UID, sweep.DefaultShards)
		s.EditRemote(func(k *v1beta2.Kyma) { k.Spec.Channel = "fast" })
		s.SweepShard(t, shard) // which finds the edit
		s.BecomesReady(kyma.Name, "sample@1.1.0")
		staysIdle(t, s, kyma, sweep.DefaultShards)
		s.EditRemote(func(k *v1beta2.Kyma) { k.Spec.Modules = nil })
		s.SweepShard(t, shard)
		s.Eventually("the module is removed", 2*time.Minute, func(c *assert.CollectT) {
			assert.Empty(c, s.Kyma(kyma.Name).Status.Modules)
			assert.Empty(c, s.Manifests(kyma))
		})
		staysIdle(t, s, kyma, sweep.DefaultShards)
		s.RemoveKyma(kyma.Name)
		workflowEnds(t, kyma)
		s.AssertRuns("removal", ids)
	})
	// A deletion always ends: a module's custom resource whose finalizer nobody serves blocks its Kyma for the grace period, and a
	// minute at most after that.
	t.Run("a purge after the grace period", func(t *testing.T) {
		const grace = 20 * time.Second
		kyma := harness.NewKyma("purged", "sample")
		metav1.SetMetaDataAnnotation(&kyma.ObjectMeta, shared.AnnotationPurgeGracePeriod, grace.String())
		ids := install(t, kyma)
		s.AddSampleFinalizer(t, "example.com/nobody")
		require.NoError(t, s.ControlPlane.Delete(t.Context(), kyma))
		at := s.Kyma(kyma.Name).DeletionTimestamp.Add(grace)
		s.Eventually("the status says what it waits for, and when it is forced", grace-2*time.Second, func(c *assert.CollectT) {
			var now v1beta2.Kyma
			require.NoError(c, s.ControlPlane.Get(t.Context(), client.ObjectKeyFromObject(kyma), &now))
			require.NotNil(c, now.Status.LastOperation)
			assert.Contains(c, now.Status.LastOperation.Operation, "sample (waiting for module crs deletion)")
			assert.Contains(c, now.Status.LastOperation.Operation, "it will be purged at "+at.UTC().Format(time.RFC3339))
		})
		s.Eventually("the Kyma is gone", time.Until(at)+time.Minute, func(c *assert.CollectT) { assert.True(c, s.IsGone(kyma)) })
		require.False(t, time.Now().Before(at))
		s.Eventually("nothing remains", 3*time.Minute, func(c *assert.CollectT) { assert.Empty(c, s.OfModule(t, s.Remote)) })
		require.Empty(t, s.RemoteKymas(t))
		workflowEnds(t, kyma)
		s.AssertRuns("purge", ids)

		// An Event, the metric, the log and the workflow name what was forced.
		s.Eventually("the Event is there", 2*time.Minute, func(c *assert.CollectT) {
			assert.Regexp(c, `^Sample kyma-system/\S+ in the remote cluster loses its finalizers example.com/nobody$`, strings.Join(s.Warnings(kyma)["Purged"], "\n"))
		})
		require.Equal(t, "1", process.Metric(t, metrics, "lifecycle_mgr_purged_objects_total"))
		log, err := os.ReadFile(s.Instance.Log)
		require.NoError(t, err)
		require.Regexp(t, `"msg":"purge: forced","kyma":"kcp-system/purged","workflowID":"kyma/kcp-system/purged/[^"]+","kind":"Sample"`, string(log))
		require.Contains(t, harness.Decoded(s.History(ids["kyma"])), "PurgeManifest")
	})
}

// Failed attempts, updates, and whatever a run continues as new for take no run more than they need.
func TestFailuresUpdatesAndContinuedRunsTakeNoRunMoreThanExpected(t *testing.T) {
	fleets.Idles(t)
	// A pass is spread over the Kymas of its shard; here hardly one has more than one of them.
	const shards, fewer = 64, 32
	s := harness.NewEnvironment(t, "--sweep-concurrency", "1", "--sweep-shards", strconv.Itoa(shards))
	s.SweepNever()
	names := []string{"failing", "continued", "rebuilt", "updated"}
	for _, name := range names {
		manifest := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n"
		if name != "updated" {
			// It cannot be applied before its namespace is there, and is tried again until then.
			manifest += "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: late, namespace: late-" + name + "}\n"
		}
		s.PushModule(harness.MinimalModule{Name: name, Channels: "regular", Manifest: manifest})
	}
	s.Instance.Start()
	connection, through := s.ThroughProxy(t)
	connection.Set(proxy.Cut)
	s.GiveAccess("failing", through)
	require.NoError(t, s.ControlPlane.Create(t.Context(), harness.NewSynced("failing", "failing")))
	s.Create(harness.NewSynced("rebuilt", "rebuilt"))
	ready := func(t *testing.T, kyma *v1beta2.Kyma, shards int) {
		t.Helper()
		s.BecomesReady(kyma.Name, kyma.Name+"@1.0.0")
		staysIdle(t, s, kyma, shards)
	}

	t.Run("attempts that fail, with back-off", func(t *testing.T) {
		kyma := s.Kyma("failing")
		id := kick.KymaWorkflowID(kick.RefOf(kyma))
		s.Eventually("the cluster has been tried twice", 2*time.Minute, func(c *assert.CollectT) {
			require.NotEmpty(c, s.Runs(fmt.Sprintf("WorkflowId = '%s'", id)), "nobody has kicked it yet")
			assert.GreaterOrEqual(c, strings.Count(harness.Decoded(s.History(id)), "EVENT_TYPE_ACTIVITY_TASK_FAILED"), 2)
		})
		connection.Set(proxy.Forward)
		attempted(s, kyma, 2)
		s.EnsureNamespace(s.Remote, "late-failing")
		ready(t, kyma, shards)
		s.AssertRuns("failures", s.WorkflowIDs(kyma))
		s.GiveAccess("failing", s.RemoteAccess(t)) // the proxy ends before the environment is cleaned up
	})
	t.Run("updates", func(t *testing.T) {
		kyma := harness.NewSynced("updated", "updated")
		s.Create(kyma)
		ready(t, kyma, shards)
		ids := s.WorkflowIDs(kyma)
		requestReconcile(t, s, kick.KymaWorkflow, ids["kyma"], kick.RefOf(kyma))
		staysIdle(t, s, kyma, shards)
		s.AssertRuns("update", ids)
	})
	t.Run("runs that are asked to continue as new", func(t *testing.T) {
		kyma := harness.NewSynced("continued", "continued")
		s.Create(kyma)
		attempted(s, kyma, 1)
		ids := s.WorkflowIDs(kyma)
		for _, id := range ids {
			continueAsNew(t, s, id)
		}
		s.EnsureNamespace(s.Remote, "late-continued")
		ready(t, kyma, shards)
		s.AssertRuns("continue-as-new", ids)
	})
	t.Run("the sweep of a shard, until it is none any more", func(t *testing.T) {
		const last = shards - 1
		sweeps := map[string]string{"sweep": kick.SweepWorkflowID(last)}
		s.SweepShard(t, last)
		s.SweepShard(t, last)
		continueAsNew(t, s, sweeps["sweep"])
		s.SweepShard(t, last)
		s.Instance.Stop()
		s.Instance.Flags = append(s.Instance.Flags, "--sweep-shards", strconv.Itoa(fewer))
		s.Instance.Start()
		s.SweepShard(t, last)
		s.Eventually("the sweep ends", time.Minute, func(c *assert.CollectT) {
			newest, err := s.Temporal.DescribeWorkflow(t.Context(), sweeps["sweep"], "")
			require.NoError(c, err)
			assert.Equal(c, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, newest.Status)
		})
		s.AssertRuns("sweep", sweeps)
	})
	t.Run("runs that wake under another build", func(t *testing.T) {
		kyma := s.Kyma("rebuilt")
		attempted(s, kyma, 1)
		s.Eventually("its workflow only waits for the next attempt", 2*time.Minute, func(c *assert.CollectT) {
			assert.Greater(c, sleepsFor(s, s.WorkflowIDs(kyma)["kyma"]), 10*time.Second)
		})
		s.Instance.Stop()
		s.EnsureNamespace(s.Remote, "late-rebuilt")
		s.Instance.Program = buildOf(s, "0.0.0-next")
		s.Instance.Start()
		s.SweepShard(t, 0)
		ready(t, kyma, fewer)
		ids := s.WorkflowIDs(kyma)
		ids["sweep"] = kick.SweepWorkflowID(0)
		s.AssertRuns("new-build", ids)
	})
	for _, name := range names {
		s.RemoveKyma(name)
	}
	s.RemoveNamespaces(s.Remote, append(names, "late-failing", "late-continued", "late-rebuilt")...)
}

// staysIdle waits until nothing remains to be done for a Kyma, also after a pass of the sweep over its shard, of so many.
func staysIdle(t *testing.T, s *harness.Environment, kyma *v1beta2.Kyma, shards int) {
	t.Helper()
	s.BecomesIdle(kyma)
	s.SweepShard(t, sweep.ShardOf(kyma.UID, shards))
	s.BecomesIdle(kyma)
}

// attempted waits until so many attempts to apply the Kyma's one module have failed.
func attempted(s *harness.Environment, kyma *v1beta2.Kyma, attempts int) {
	s.T.Helper()
	s.Eventually("the module of Kyma "+kyma.Name+" was not applied", 2*time.Minute, func(c *assert.CollectT) {
		id := kick.KymaWorkflowID(kick.RefOf(kyma))
		require.NotEmpty(c, s.Runs(fmt.Sprintf("WorkflowId = '%s'", id)), "nobody has kicked it yet")
		history := harness.Decoded(s.History(id))
		assert.GreaterOrEqual(c, strings.Count(history, string(manifests.OutcomeIncomplete)), attempts)
	})
}

// sleepsFor is how much longer a workflow does nothing but wait for timers; 0 where it does something.
func sleepsFor(s *harness.Environment, id string) time.Duration {
	s.T.Helper()
	now, err := s.Temporal.DescribeWorkflow(s.T.Context(), id, "")
	require.NoError(s.T, err)
	if now.RawResponse.GetPendingWorkflowTask() != nil || len(now.RawResponse.GetPendingActivities()) > 0 {
		return 0
	}
	timers := map[int64]time.Time{} // by the event that started them
	for _, event := range s.History(id).GetEvents() {
		switch event.GetEventType() {
		case enumspb.EVENT_TYPE_TIMER_STARTED:
			timers[event.GetEventId()] = event.GetEventTime().AsTime().Add(event.GetTimerStartedEventAttributes().GetStartToFireTimeout().AsDuration())
		case enumspb.EVENT_TYPE_TIMER_FIRED:
			delete(timers, event.GetTimerFiredEventAttributes().GetStartedEventId())
		case enumspb.EVENT_TYPE_TIMER_CANCELED:
			delete(timers, event.GetTimerCanceledEventAttributes().GetStartedEventId())
		default:
		}
	}
	if len(timers) == 0 {
		return 0
	}
	return time.Until(slices.MinFunc(slices.Collect(maps.Values(timers)), time.Time.Compare))
}

// requestReconcile asks a workflow for a reconcile, which is started for that where none is open, and waits for its end.
func requestReconcile(t *testing.T, s *harness.Environment, workflow, id string, ref kick.Ref) {
	t.Helper()
	start := s.Temporal.NewWithStartWorkflowOperation(temporal.StartWorkflowOptions{
		ID: id, TaskQueue: kick.ControlPlaneQueue, WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	}, workflow, kick.Start{Ref: ref})
	handle, err := s.Temporal.UpdateWithStartWorkflow(t.Context(), temporal.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: start,
		UpdateOptions:          temporal.UpdateWorkflowOptions{UpdateName: kick.UpdateReconcile, WaitForStage: temporal.WorkflowUpdateStageCompleted},
	})
	require.NoError(t, err)
	var reached kymaflow.ReconcileResult
	require.NoError(t, handle.Get(t.Context(), &reached))
	require.True(t, reached.Completed, "%s did not end its reconcile in time", workflow)
}

// continueAsNew asks the open run of a workflow to continue as new, and waits until it has.
func continueAsNew(t *testing.T, s *harness.Environment, id string) {
	t.Helper()
	run := func() string {
		now, err := s.Temporal.DescribeWorkflow(t.Context(), id, "")
		require.NoError(t, err)
		return now.WorkflowExecution.RunID
	}
	before := run()
	require.NoError(t, s.Temporal.SignalWorkflow(t.Context(), id, before, kick.SignalContinueAsNew, nil))
	s.Eventually("workflow "+id+" continues as new", time.Minute, func(c *assert.CollectT) { assert.NotEqual(c, before, run()) })
}

// buildOf builds lifecycle-manager from the same code with another version, and returns its path: for running workflows,
// it is another build.
func buildOf(s *harness.Environment, version string) string {
	s.T.Helper()
	path := filepath.Join(s.T.TempDir(), "lifecycle-manager")
	s.Run("go", "build", "-C", testfleet.Root(s.T), "-buildvcs=false", "-ldflags", "-s -w -X main.version="+version, "-o", path, "./cmd/lifecycle-manager")
	return path
}
