// Package worker assembles and runs the Temporal workers of a process: it creates all activities and registers them and
// all workflows.
//
// A process of Lifecycle Manager (cmd/lifecycle-manager, file run.go) uses it like this:
//
//	cached, informers, err := worker.CacheOptions(settings)   // for the manager's cache
//	err = worker.Index(ctx, mgr.GetFieldIndexer())            // before the cache starts
//	assembly, err := worker.Assemble(worker.Parts{...})       // activities and their dependencies
//	link, err := worker.NewLink(temporal, namespace, ...)     // readiness: can work be done?
//	workers := worker.New(temporal, worker.Options{Activities: assembly.Activities, Slots: slots, ...})
//	err = mgr.Add(workers)
//
// The files are:
//
//	assemble.go, manifests.go, watching.go  create the activities from their dependencies
//	worker.go                               one worker per task queue, with its activities, slots and pollers
//	slots.go                                slots that adapt to slow clusters and large installations
//	heartbeats.go                           heartbeats and faults for all activities
//	link.go, searchattributes.go            watch and repair the connection to Temporal
//	registries.go                           wakes workflows that wait for a registry
//	work.go and the other files              metrics
//
// What must stay true:
//
//   - Work on remote clusters never takes slots from work on the control plane: each has its own task queue.
//   - Every worker except the one for sweeps has the Heartbeats interceptor, so a process that lost Temporal stops writing.
//   - All workflows are AutoUpgrade. A sleeping run continues with the newest build, and continues as new when it
//     notices one by the build id.
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

// Activities are the activities that the workers run.
type Activities struct {
	Background *background.Activities
	Resolve    *resolve.Activities
	Sync       *syncing.Activities
	Status     *status.Activities
	// Manifests are the activities for Manifests.
	Manifests *ManifestActivities
	Sweep     *sweep.Activities
	// Routing and Certificates are nil if events from remote clusters are switched off.
	Routing      *routing.Activities
	Certificates *rotate.Activities
	// Advance are the activities for rollouts.
	Advance *advance.Activities
}

// Slots defines how many tasks this process runs at once.
type Slots struct {
	ControlPlane int
	Remote       int
	// Workflow is the number of workflow tasks at once. Short steps are attempted within them.
	Workflow int
	// Background is the number of background reconciles at once, not counting those that wait for their cluster.
	Background int
	// Sweep is the number of shards walked at once (flag --sweep-concurrency).
	Sweep int
}

// Options configures the workers of one process.
type Options struct {
	Activities Activities
	Slots      Slots
	// Work measures activities. It may be nil.
	Work *Work
	// StopTimeout is how long running activities may continue after a stop. Keep it below the pod's termination grace
	// period.
	StopTimeout time.Duration
	// BuildID is the program's build id. Histories record it with each workflow task. If it is empty, each process
	// computes a checksum of its whole executable at its start.
	BuildID string
	// Versioned makes the workers a version of a worker deployment, named by the build id. Temporal gives them no
	// work before the version is current (package deployment).
	Versioned bool
}

// Workers are the Temporal workers of one process, one per task queue. They implement manager.Runnable.
type Workers struct {
	workers []runnable
	// fatal receives the error with which a worker had to stop.
	fatal chan error
}

// New assembles the workers. It opens no connection.
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

// followSlots is how many waits for modules one process runs at once, at a few kilobytes each.
const followSlots = 2000

// taskQueue describes one worker.
type taskQueue struct {
	name       string
	options    worker.Options
	activities []any
}

// queues returns the task queues with the activities of each.
func (w *Workers) queues(o Options) []taskQueue {
	a := o.Activities
	// This worker also runs the activities that workflows attempt as local activities.
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
	// A poll holds a slot while it waits. When there were as many polls as slots, polls for sleeping workflows, none
	// of which had been kicked, left a single slot to a hundred new workflows.
	controlPlane.options.WorkflowTaskPollerBehavior = pollers(o.Slots.Workflow / 4)
	controlPlane.options.StickyScheduleToStartTimeout = stickyTimeout
	controlPlane.options.Interceptors = append(o.interceptors(), tasks)

	remote := taskQueue{name: kick.RemoteQueue, options: w.queue(o, o.Slots.Remote), activities: []any{
		a.Sync.SyncRemote, a.Sync.CleanupRemote, a.Background.CleanUpAndRelease, a.Status.ReportKyma, a.Background.ReportModules,
		a.Manifests.Install.ApplyManifest, a.Manifests.Install.EnsureDefaultCR, a.Manifests.Uninstall.RemoveManifest, a.Manifests.Purge.PurgeManifest,
	}}
	remote.options.DisableWorkflowWorker = true
	remote.options.Interceptors = o.interceptors()

	// There may be a wait for each module of the fleet at the same time. Waits are mostly idle.
	follow := taskQueue{name: kick.FollowQueue, options: w.queue(o, 0), activities: []any{
		a.Manifests.Install.FollowModules, a.Manifests.Uninstall.WaitRemoval,
	}}
	follow.options.Tuner = newPromptSlots(o.Slots.Remote, followSlots).tuner()
	follow.options.DisableWorkflowWorker = true
	follow.options.Interceptors = o.interceptors()

	// There may be a background reconcile for each cluster of the fleet at the same time. Few slots leave the process
	// time for urgent work, and for the work that these reconciles cause.
	inBackground := taskQueue{name: kick.BackgroundQueue, options: w.queue(o, 0), activities: []any{a.Background.ReconcileInBackground}}
	inBackground.options.Tuner = newPromptSlots(o.Slots.Background, o.Slots.Remote).tuner()
	inBackground.options.DisableWorkflowWorker = true
	inBackground.options.Interceptors = o.interceptors()

	// The workflow tasks of sweeps, a few for each shard and pass, must not delay other workflows. A walk sends its
	// own heartbeats.
	sweeps := taskQueue{name: kick.SweepQueue, options: w.queue(o, o.Slots.Sweep), activities: []any{a.Sweep.WalkShard}}
	return []taskQueue{controlPlane, remote, follow, inBackground, sweeps}
}

// deployment returns the version of the workers.
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

// interceptors returns the interceptors of every activity except a walk, the outermost first.
func (o Options) interceptors() []interceptor.WorkerInterceptor {
	if o.Work == nil {
		return []interceptor.WorkerInterceptor{Heartbeats()}
	}
	return []interceptor.WorkerInterceptor{o.Work.interceptor(), Heartbeats()}
}

// runnable is the part of worker.Worker that Workers needs.
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

// RegisterWorkflows registers every workflow under its name. All workflows are AutoUpgrade: a sleeping run continues
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

// stickyTimeout is how long a workflow task waits for the process that has its workflow in memory. After that, the
// task waits in the shared queue, behind the tasks of all new workflows, and its worker has to read the whole
// history. With the SDK's 5 s on a busy machine, a change of the catalog for 2,000 Kymas made edits wait for minutes.
// The server notices a stopped process by itself: 10 s later, new tasks no longer wait for it.
const stickyTimeout = 20 * time.Second

// pollers returns how many goroutines poll Temporal for tasks of one kind at once. Their number follows the backlog.
// Tasks of new and of sleeping workflows have separate pollers. The SDK's default is two pollers for both, which
// prefer sleeping workflows as long as these have tasks: on a busy fleet, a new workflow then waited for minutes.
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
		// Send heartbeats of writing activities every few seconds, so that a lost connection is noticed well within
		// the heartbeat timeout.
		DefaultHeartbeatThrottleInterval: 3 * time.Second,
		MaxHeartbeatThrottleInterval:     5 * time.Second,
		// A worker that cannot continue stops polling. End the process, because it must not appear healthy.
		OnFatalError: func(err error) {
			select {
			case w.fatal <- err:
			default:
			}
		},
	}
}

// Start starts all workers and blocks until ctx is done or a worker cannot continue. In the second case it returns
// the worker's error. It then stops all workers and waits for running activities, up to StopTimeout. It implements
// manager.Runnable.
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

// NeedLeaderElection returns false: every process runs workers.
func (w *Workers) NeedLeaderElection() bool { return false }

// stopAll stops workers concurrently, because each may wait for its activities.
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
