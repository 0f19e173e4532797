// Package worker assembles the Temporal workers: what they register, on which task queues, with how many
// slots. By the build id, a sleeping run notices another build.
package worker

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/advance"
	"github.com/kyma-project/lifecycle-manager/activities/background"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/rotate"
	"github.com/kyma-project/lifecycle-manager/activities/routing"
	"github.com/kyma-project/lifecycle-manager/activities/status"
	"github.com/kyma-project/lifecycle-manager/activities/sweep"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/worker/deployment"
	"github.com/kyma-project/lifecycle-manager/workflows/authority"
	"github.com/kyma-project/lifecycle-manager/workflows/kyma"
	"github.com/kyma-project/lifecycle-manager/workflows/rollout"
	watcherflow "github.com/kyma-project/lifecycle-manager/workflows/routing"
	sweepflow "github.com/kyma-project/lifecycle-manager/workflows/sweep"
)

// Activities are what the workers run.
type Activities struct {
	Background *background.Activities
	Resolve    *resolve.Activities
	Sync       *syncing.Activities
	Status     *status.Activities
	// Manifests are those on Manifests.
	Manifests *ManifestActivities
	Sweep     *sweep.Activities
	// Routing and Certificates are nil where remote clusters send no events.
	Routing      *routing.Activities
	Certificates *rotate.Activities
	// Advance are those of rollouts.
	Advance *advance.Activities
}

// Slots are how many activities each task queue runs at once in this process.
type Slots struct {
	ControlPlane int
	Remote       int
	// Workflow is how many workflow tasks there are at once, in which short steps are tried.
	Workflow int
	// Background is how many reconciles there are at once that nobody waits for, without those that wait for their cluster.
	Background int
	// Sweep is how many shards are walked at once (flag sweep-concurrency).
	Sweep int
}

// Options configure the workers of one process.
type Options struct {
	Activities Activities
	Slots      Slots
	// Work measures what is done; nil measures nothing.
	Work *Work
	// StopTimeout is how long running activities may continue after a stop; keep it below the pod's own.
	StopTimeout time.Duration
	// BuildID is the program's, by which histories name who did a workflow task. Where it is empty, each process reads
	// its whole executable at its start, for a checksum of it.
	BuildID string
	// Versioned makes the workers a version of a worker deployment, by the build id: Temporal gives them nothing until
	// somebody makes it the current one (package deployment).
	Versioned bool
}

// Workers are the Temporal workers of one process, one per task queue.
type Workers struct {
	workers []runnable
	// fatal receives why a worker cannot continue.
	fatal chan error
}

// New assembles the workers. It makes no connection.
func New(temporal client.Client, o Options) *Workers {
	if o.BuildID != "" {
		worker.SetBinaryChecksum(o.BuildID)
	}
	w := &Workers{fatal: make(chan error, 1)}
	for _, q := range w.queues(o) {
		each := worker.New(temporal, q.name, q.options)
		if !q.options.DisableWorkflowWorker {
			RegisterWorkflows(each)
		}
		register(each, q.activities...)
		w.workers = append(w.workers, each)
	}
	return w
}

// followSlots is how many modules one process watches at once, at some kilobytes each.
const followSlots = 2000

// taskQueue is what one worker does.
type taskQueue struct {
	name       string
	options    worker.Options
	activities []any
}

// queues are the task queues with what runs on each.
func (w *Workers) queues(o Options) []taskQueue {
	a := o.Activities
	// The workflows' worker also has what workflows attempt as local activities.
	controlPlane := taskQueue{name: kick.ControlPlaneQueue, options: w.queue(o, 0), activities: []any{
		a.Resolve.ResolveKyma, a.Resolve.DeleteManifests,
		a.Status.ReportKyma, a.Status.ReleaseKyma, a.Manifests.Install.ReportManifest, a.Manifests.Purge.AdmitPurge, a.Sync.SyncRemote,
		a.Manifests.Install.InstallModules, a.Background.ReportModules,
	}}
	if a.Advance != nil {
		controlPlane.activities = append(controlPlane.activities, a.Advance.AdvanceRollout)
	}
	if a.Routing != nil {
		controlPlane.activities = append(controlPlane.activities, a.Routing.ReconcileWatcher)
	}
	if a.Certificates != nil {
		controlPlane.activities = append(controlPlane.activities, a.Certificates.RotateCertificates)
	}
	tasks, tuner := newTaskSlots(o.Slots.Workflow), newTuner(o.Slots.ControlPlane)
	tuner.tasks = tasks
	controlPlane.options.Tuner = tuner
	// A poll holds a slot while it waits. With as many polls as slots, those for sleeping workflows, of which nobody had woken
	// one, left a single slot to a hundred new ones.
	controlPlane.options.WorkflowTaskPollerBehavior = pollers(o.Slots.Workflow / 4)
	controlPlane.options.StickyScheduleToStartTimeout = stickyTimeout
	controlPlane.options.Interceptors = append(o.interceptors(), tasks)

	remote := taskQueue{name: kick.RemoteQueue, options: w.queue(o, o.Slots.Remote), activities: []any{
		a.Sync.SyncRemote, a.Sync.CleanupRemote, a.Background.CleanUpAndRelease, a.Status.ReportKyma, a.Background.ReportModules,
		a.Manifests.Install.ApplyManifest, a.Manifests.Install.EnsureDefaultCR, a.Manifests.Uninstall.RemoveManifest, a.Manifests.Purge.PurgeManifest,
	}}
	remote.options.DisableWorkflowWorker = true
	remote.options.Interceptors = o.interceptors()

	// There may be one such wait for each module of the fleet at the same time. Mostly it does nothing.
	follow := taskQueue{name: kick.FollowQueue, options: w.queue(o, 0), activities: []any{
		a.Manifests.Install.FollowModules, a.Manifests.Uninstall.WaitRemoval,
	}}
	follow.options.Tuner = newPromptSlots(o.Slots.Remote, followSlots).tuner()
	follow.options.DisableWorkflowWorker = true
	follow.options.Interceptors = o.interceptors()

	// There may be one such reconcile for each cluster of the fleet at the same time. With few slots, the process has time
	// for what somebody waits for, and for what follows from these reconciles.
	inBackground := taskQueue{name: kick.BackgroundQueue, options: w.queue(o, 0), activities: []any{a.Background.ReconcileInBackground}}
	inBackground.options.Tuner = newPromptSlots(o.Slots.Background, o.Slots.Remote).tuner()
	inBackground.options.DisableWorkflowWorker = true
	inBackground.options.Interceptors = o.interceptors()

	// The sweeps' own workflow tasks, a few for each shard and pass, must not delay those of others. A walk
	// heartbeats where it stands by itself.
	sweeps := taskQueue{name: kick.SweepQueue, options: w.queue(o, o.Slots.Sweep), activities: []any{a.Sweep.WalkShard}}
	return []taskQueue{controlPlane, remote, follow, inBackground, sweeps}
}

// deployment is what the workers say of their version.
func (o Options) deployment() worker.DeploymentOptions {
	if !o.Versioned {
		return worker.DeploymentOptions{}
	}
	return worker.DeploymentOptions{
		UseVersioning:             true,
		Version:                   worker.WorkerDeploymentVersion{DeploymentName: deployment.Name, BuildID: o.BuildID},
		DefaultVersioningBehavior: workflow.VersioningBehaviorAutoUpgrade,
	}
}

// interceptors are around every activity but a walk, the first outermost.
func (o Options) interceptors() []interceptor.WorkerInterceptor {
	if o.Work == nil {
		return []interceptor.WorkerInterceptor{Heartbeats()}
	}
	return []interceptor.WorkerInterceptor{o.Work.interceptor(), Heartbeats()}
}

// runnable is what a worker is once it is assembled.
type runnable interface {
	Start() error
	Stop()
}

// register registers activities under the names of their methods.
func register(registry worker.ActivityRegistry, activities ...any) {
	for _, each := range activities {
		registry.RegisterActivity(each)
	}
}

// RegisterWorkflows registers every workflow under its name. All are AutoUpgrade: a sleeping run continues
// with the newest build.
func RegisterWorkflows(registry worker.WorkflowRegistry) {
	for name, definition := range map[string]any{
		kick.KymaWorkflow:         kyma.Workflow,
		kick.SweepWorkflow:        sweepflow.Workflow,
		kick.WatcherWorkflow:      watcherflow.WatcherWorkflow,
		kick.CertificatesWorkflow: authority.CertificatesWorkflow,
		kick.RolloutWorkflow:      rollout.Workflow,
	} {
		registry.RegisterWorkflowWithOptions(definition, workflow.RegisterOptions{
			Name:               name,
			VersioningBehavior: workflow.VersioningBehaviorAutoUpgrade,
		})
	}
}

// stickyTimeout is how long a workflow task waits for the process that has its workflow in memory. Afterwards it waits in
// the queue of all processes, behind the tasks of all new workflows, and whoever takes it reads the whole history: where
// the SDK's 5 s were over on a busy machine, a change of the catalog for 2,000 Kymas made edits wait for minutes. That a
// process is gone the server notices by itself: tasks that come 10 s later or more do not wait for it.
const stickyTimeout = 20 * time.Second

// pollers are how many goroutines ask Temporal for tasks of one kind at once. They come and go with the backlog, and
// those for the tasks of new and of sleeping workflows are apart. The SDK's default is two for both, which ask for
// those of sleeping ones as long as there are any: on a busy fleet a new workflow then waited for minutes.
func pollers(most int) worker.PollerBehavior {
	return worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{
		MinimumNumberOfPollers: 2, InitialNumberOfPollers: max(2, min(5, most)), MaximumNumberOfPollers: max(2, most),
	})
}

func (w *Workers) queue(o Options, slots int) worker.Options {
	return worker.Options{
		DeploymentOptions:                  o.deployment(),
		MaxConcurrentActivityExecutionSize: slots,
		WorkflowTaskPollerBehavior:         pollers(50),
		ActivityTaskPollerBehavior:         pollers(50),
		WorkerStopTimeout:                  o.StopTimeout,
		// Heartbeats of writing activities are sent every few seconds, so that a lost connection is
		// noticed well within the heartbeat time-out.
		DefaultHeartbeatThrottleInterval: 3 * time.Second,
		MaxHeartbeatThrottleInterval:     5 * time.Second,
		// A worker that cannot continue stops polling by itself. The process must not appear healthy then.
		OnFatalError: func(err error) {
			select {
			case w.fatal <- err:
			default:
			}
		},
	}
}

// Start starts all workers and blocks until ctx is done or a worker cannot continue, whose error it returns; then
// it stops them, waiting for running activities up to the stop time-out. It implements manager.Runnable.
func (w *Workers) Start(ctx context.Context) error {
	for i, each := range w.workers {
		if err := each.Start(); err != nil {
			stopAll(w.workers[:i])
			return fmt.Errorf("start worker: %w", err)
		}
	}
	defer stopAll(w.workers)
	select {
	case <-ctx.Done():
		return nil
	case err := <-w.fatal:
		return fmt.Errorf("a worker cannot continue: %w", err)
	}
}

// NeedLeaderElection is false: workers scale out, whoever leads.
func (w *Workers) NeedLeaderElection() bool { return false }

// stopAll stops workers side by side, because each may wait for its activities.
func stopAll(workers []runnable) {
	done := make(chan struct{})
	for _, each := range workers {
		go func() {
			each.Stop()
			done <- struct{}{}
		}()
	}
	for range workers {
		<-done
	}
}
