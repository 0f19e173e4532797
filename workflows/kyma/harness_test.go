package kyma

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/background"
	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/purge"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/status"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/activities/uninstall"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/workflowtest"
)

var kymaRef = kick.Ref{Namespace: "kcp-system", Name: "demo", UID: "kyma-uid"}
var manifestRef = kick.Ref{Namespace: "kcp-system", Name: "demo-sample-1", UID: "manifest-uid"}

// fixture is the scripted state behind fake activities.
type fixture struct {
	calls []string

	sync    func(n int) (syncing.Result, error)
	resolve func(n int) (resolve.Result, error)
	report  func(n int, in status.ReportInput) (status.ReportResult, error)
	delete  func(n int) (resolve.DeleteResult, error)
	cleanup func(n int) (syncing.Result, error)
	release func(n int) (status.ReportResult, error)
	apply   func(ctx context.Context, n int) (install.ApplyResult, error)
	// applying replaces apply if it is not nil.
	applying func(ref kick.Ref) (install.ApplyResult, error)
	wait     func(n int, in install.Followed) (readiness.Observed, error)
	defaults func(n int) (readiness.Observed, error)
	write    func(n int, in manifests.ReportInput) (manifests.ReportResult, error)
	remove   func(n int) (uninstall.RemoveResult, error)
	waitGone func(n int) (uninstall.RemoveResult, error)
	// installed, if it is not nil, returns the results of modules that a reconcile of the Kyma installs directly.
	installed func(n int, ref kick.Ref) install.ApplyResult
	// turn, if it is not nil, delays a background reconcile.
	turn func(ctx context.Context, n int) error
	// began is when the background reconcile began, as the server reports it.
	began time.Time
	// removing, if it is not nil, replaces remove. It gets the activity's context.
	removing func(ctx context.Context, n int) (uninstall.RemoveResult, error)
	admit    func(n int) error
	purge    func(n int, in purge.Input) (purge.Result, error)
	force    func(n int, in syncing.CleanupInput) (syncing.Result, error)

	mu     sync.Mutex
	counts map[string]int
	// since holds the times that resolve and apply received, in order. named holds the modules that resolve received.
	since []time.Time
	named [][]string
	// watches holds the inputs of the activities that read modules.
	watches []install.FollowInput
	// abandoned is what the last release reported as left in the remote cluster.
	abandoned string
}

// called records a step. Steps of several modules run at the same time.
func (w *fixture) called(name string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, name)
	w.counts[name]++
	return w.counts[name]
}

// count returns how often a step was taken.
func (w *fixture) count(name string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.counts[name]
}

// noteWatch records an activity that reads modules, once for all of its attempts.
func (w *fixture) noteWatch(ctx context.Context, in install.FollowInput) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if activity.GetInfo(ctx).Attempt == 1 {
		w.watches = append(w.watches, in)
	}
}

func (w *fixture) set(name string, count int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[name] = count
}

func synced() (syncing.Result, error) {
	return syncing.Result{Outcome: syncing.OutcomeSynced, Cluster: "cluster-uid"}, nil
}

func resolved() (resolve.Result, error) {
	return resolve.Result{Outcome: resolve.OutcomeDone, InputsDigest: "inputs-1"}, nil
}

func reported(state shared.State) (status.ReportResult, error) {
	return status.ReportResult{Outcome: status.OutcomeReported, State: state, Channel: "regular", Message: string(state)}, nil
}

// quietFixture returns a fleet without any difference from the desired state.
func quietFixture() *fixture {
	return &fixture{
		counts:  map[string]int{},
		sync:    func(int) (syncing.Result, error) { return synced() },
		resolve: func(int) (resolve.Result, error) { return resolved() },
		report:  func(int, status.ReportInput) (status.ReportResult, error) { return reported(shared.StateReady) },
		delete: func(int) (resolve.DeleteResult, error) {
			return resolve.DeleteResult{Outcome: resolve.OutcomeDeleting}, nil
		},
		cleanup: func(int) (syncing.Result, error) { return syncing.Result{Outcome: syncing.OutcomeClean}, nil },
		release: func(int) (status.ReportResult, error) {
			return status.ReportResult{Outcome: status.OutcomeReleased}, nil
		},
		apply: func(context.Context, int) (install.ApplyResult, error) {
			return install.ApplyResult{
				Outcome: manifests.OutcomeApplied, InputsDigest: "m-1", Module: "sample", Version: "1.0.0", Kyma: "demo",
				Observed: readiness.Observed{State: shared.StateProcessing},
			}, nil
		},
		wait: func(int, install.Followed) (readiness.Observed, error) {
			return readiness.Observed{State: shared.StateReady}, nil
		},
		defaults: func(int) (readiness.Observed, error) {
			return readiness.Observed{State: shared.StateProcessing, Message: "made"}, nil
		},
		write: func(int, manifests.ReportInput) (manifests.ReportResult, error) {
			return manifests.ReportResult{Outcome: manifests.OutcomeApplied, Changed: true}, nil
		},
		remove: func(int) (uninstall.RemoveResult, error) {
			return uninstall.RemoveResult{Outcome: manifests.OutcomeRemoved}, nil
		},
		waitGone: func(int) (uninstall.RemoveResult, error) {
			return uninstall.RemoveResult{Outcome: manifests.OutcomeWaiting}, nil
		},
		admit: func(int) error { return nil },
		purge: func(int, purge.Input) (purge.Result, error) {
			return purge.Result{Outcome: manifests.OutcomeRemoved, Forced: 1, Names: []string{"Sample default"}}, nil
		},
		force: func(int, syncing.CleanupInput) (syncing.Result, error) {
			return syncing.Result{Outcome: syncing.OutcomeClean}, nil
		},
	}
}

// SyncRemote implements background.RemoteSteps.
func (w *fixture) SyncRemote(context.Context, syncing.Input) (syncing.Result, error) {
	res, err := w.sync(w.called("sync"))
	return res, fault.ToTemporal(err)
}

// ResolveKyma implements background.Resolver.
func (w *fixture) ResolveKyma(_ context.Context, in resolve.Input) (resolve.Result, error) {
	w.since, w.named = append(w.since, in.Since), append(w.named, in.Modules)
	res, err := w.resolve(w.called("resolve"))
	return res, fault.ToTemporal(err)
}

// ReportKyma implements background.StatusSteps.
func (w *fixture) ReportKyma(_ context.Context, in status.ReportInput) (status.ReportResult, error) {
	res, err := w.report(w.called("report"), in)
	return res, fault.ToTemporal(err)
}

// CleanupRemote implements background.RemoteSteps.
func (w *fixture) CleanupRemote(_ context.Context, in syncing.CleanupInput) (syncing.Result, error) {
	if in.Force {
		res, err := w.force(w.called("cleanup by force"), in)
		return res, fault.ToTemporal(err)
	}
	res, err := w.cleanup(w.called("cleanup"))
	return res, fault.ToTemporal(err)
}

// ReleaseKyma implements background.StatusSteps.
func (w *fixture) ReleaseKyma(_ context.Context, in status.ReleaseInput) (status.ReportResult, error) {
	w.abandoned = in.Abandoned
	res, err := w.release(w.called("release"))
	return res, fault.ToTemporal(err)
}

// ReportManifest implements background.Installer.
func (w *fixture) ReportManifest(_ context.Context, in manifests.ReportInput) (manifests.ReportResult, error) {
	res, err := w.write(w.called("write "+string(in.Observed.State)), in)
	return res, fault.ToTemporal(err)
}

// InstallModules implements background.Installer. It installs nothing unless installed is set.
func (w *fixture) InstallModules(_ context.Context, in install.ModulesInput) ([]install.Installed, error) {
	all := make([]install.Installed, 0, len(in.Manifests))
	for _, ref := range in.Manifests {
		one := install.Installed{Ref: ref, Later: true}
		if w.installed != nil {
			one.Result, one.Later = w.installed(w.called("install"), ref), false
		}
		all = append(all, one)
	}
	return all, nil
}

// environment returns a test environment with the fixture's activities.
func environment(t *testing.T, w *fixture) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	env := workflowtest.Environment()
	env.RegisterWorkflowWithOptions(Workflow, workflow.RegisterOptions{Name: kick.KymaWorkflow})
	register := func(name string, fn any) {
		env.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: name})
	}
	register("SyncRemote", w.SyncRemote)
	register("ResolveKyma", w.ResolveKyma)
	register("InstallModules", w.InstallModules)
	joined := background.New(w, w, w, w)
	register("ReconcileInBackground", func(ctx context.Context, in background.Input) (background.Result, error) {
		turn := w.count("turn") + 1
		w.set("turn", turn) // not a step by itself
		if w.turn != nil {
			if err := w.turn(ctx, turn); err != nil {
				return background.Result{}, err
			}
		}
		res, err := joined.ReconcileInBackground(ctx, in)
		res.Began = w.began
		return res, err
	})
	register("ReportKyma", w.ReportKyma)
	register("ReportModules", joined.ReportModules)
	register("DeleteManifests", func(context.Context, resolve.Input) (resolve.DeleteResult, error) {
		res, err := w.delete(w.called("delete"))
		return res, fault.ToTemporal(err)
	})
	register("AdmitPurge", func(context.Context, purge.AdmitInput) error {
		return fault.ToTemporal(w.admit(w.called("admit purge")))
	})
	register("PurgeManifest", func(_ context.Context, in purge.Input) (purge.Result, error) {
		res, err := w.purge(w.called("purge"), in)
		return res, fault.ToTemporal(err)
	})
	register("CleanupRemote", w.CleanupRemote)
	register("ReleaseKyma", w.ReleaseKyma)
	register("CleanUpAndRelease", joined.CleanUpAndRelease)
	register("ApplyManifest", func(ctx context.Context, in install.ApplyInput) (install.ApplyResult, error) {
		w.since = append(w.since, in.Since)
		n := w.called("apply")
		if w.applying != nil {
			return w.applying(in.Ref)
		}
		res, err := w.apply(ctx, n)
		return res, fault.ToTemporal(err)
	})
	register("FollowModules", func(ctx context.Context, in install.FollowInput) ([]install.ModuleNews, error) {
		w.noteWatch(ctx, in)
		var news []install.ModuleNews
		var waiting error
		for n := w.called("wait"); len(in.Modules) > 0; in.Modules = in.Modules[1:] {
			each := in.Modules[0]
			res, err := w.wait(n, each)
			if fault.Of(err).Kind == fault.Pending {
				waiting = err
				continue
			}
			news = append(news, install.ModuleNews{Ref: each.Ref, WaitResult: install.WaitResult{Observed: res}, Fault: fault.Of(err)})
		}
		if len(news) == 0 {
			return nil, fault.ToTemporal(waiting)
		}
		return news, nil
	})
	register("EnsureDefaultCR", func(context.Context, install.WaitInput) (install.WaitResult, error) {
		res, err := w.defaults(w.called("default CR"))
		return install.WaitResult{Observed: res}, fault.ToTemporal(err)
	})
	register("ReportManifest", w.ReportManifest)
	register("RemoveManifest", func(ctx context.Context, _ uninstall.RemoveInput) (uninstall.RemoveResult, error) {
		if w.removing != nil {
			res, err := w.removing(ctx, w.called("remove"))
			return res, fault.ToTemporal(err)
		}
		res, err := w.remove(w.called("remove"))
		return res, fault.ToTemporal(err)
	})
	register("WaitRemoval", func(context.Context, uninstall.RemoveInput) (uninstall.RemoveResult, error) {
		res, err := w.waitGone(w.called("wait for removal"))
		return res, fault.ToTemporal(err)
	})
	return env
}

// kickAt sends a kick at a time of the workflow's clock.
func kickAt(env *testsuite.TestWorkflowEnvironment, at time.Duration, k kick.Kick) {
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(kick.Signal, k) }, at)
}

// forModule makes a kick request a step of the Manifest.
func forModule(k kick.Kick) kick.Kick {
	k.Kind, k.Work, k.Namespace, k.Name, k.UID = "Manifest", true, manifestRef.Namespace, manifestRef.Name, manifestRef.UID
	return k
}

// kickModule sends a kick that requests a step of the Manifest.
func kickModule(env *testsuite.TestWorkflowEnvironment, k kick.Kick) {
	env.SignalWorkflow(kick.Signal, forModule(k))
}

// workOnModule runs the workflow of a Kyma that is gone and left only the Manifest. The workflow completes when the
// work on the Manifest has ended.
func workOnModule(env *testsuite.TestWorkflowEnvironment, w *fixture) {
	workFrom(env, w, ModuleCarry{})
}

// workFrom is like workOnModule, but continues from the state that an earlier run carried.
func workFrom(env *testsuite.TestWorkflowEnvironment, w *fixture, carried ModuleCarry) {
	w.sync = func(int) (syncing.Result, error) { return syncing.Result{Outcome: syncing.OutcomeGone}, nil }
	carried.Ref = manifestRef
	env.ExecuteWorkflow(Workflow, Input{Ref: kymaRef, Carry: &Carry{Modules: []ModuleCarry{carried}}})
}

// steps returns the steps that were taken for the Manifest.
func (w *fixture) steps() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.calls), func(call string) bool {
		return slices.Contains([]string{"sync", "resolve", "report", "delete", "admit purge", "cleanup by force", "release"}, call)
	})
}

// endKyma removes the Kyma at a time, so that the workflow completes and the test can check it.
func endKyma(env *testsuite.TestWorkflowEnvironment, w *fixture, at time.Duration) {
	env.RegisterDelayedCallback(func() {
		w.sync = func(int) (syncing.Result, error) { return syncing.Result{Outcome: syncing.OutcomeGone}, nil }
		env.SignalWorkflow(kick.Signal, kick.Kick{Reason: "Kyma is gone", Urgent: true})
	}, at)
}

// updateAnswer receives the answer of an update.
type updateAnswer struct {
	result ReconcileResult
	err    error
}

func (a *updateAnswer) Accept()          {}
func (a *updateAnswer) Reject(err error) { a.err = err }
func (a *updateAnswer) Complete(result any, err error) {
	a.err = err
	if r, ok := result.(ReconcileResult); ok {
		a.result = r
	}
}

// unreachableAttempts is how often a run tries an unreachable cluster before it leaves the cluster to the sweep's
// probe.
const unreachableAttempts = 4
