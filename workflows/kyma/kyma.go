// Package kyma has the workflow of a Kyma, which is open as long as the Kyma exists.
//
//	kyma.go      the life of a run; next.go decides what it does next
//	             reconcile.go, background.go, report.go, removal.go and purge.go do it; update.go answers callers;
//	             versions.go has the versions of objects that kicks named
//	modules.go   the modules that have work: each has a coroutine of the workflow
//	module.go    the work on one Manifest until it has settled; module_next.go decides
//	             module_reconcile.go, module_follow.go, module_removal.go and module_purge.go do it
//
// What must stay true: only one step at a time writes for a Manifest or for the status of the Kyma, a module that hangs holds up
// neither others nor the Kyma, and what is wanted is read anew by every step.
package kyma

import (
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/background"
	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/purge"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/status"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/attributes"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/entity"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/mailbox"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/removal"
)

// Input is the input of Workflow. Starters set Ref only (kick.Start).
type Input struct {
	Ref   kick.Ref `json:"ref"`
	Carry *Carry   `json:"carry,omitempty"`
}

// Carry is what a Kyma's workflow carries from run to run.
type Carry struct {
	entity.Carry
	// Modules are the Manifests that have not settled.
	Modules []ModuleCarry `json:"modules,omitempty"`
	// Published are the search attributes as last upserted; they stay with the workflow over runs.
	Published map[string]string `json:"published,omitempty"`
	// Deleting is true once the Kyma was seen with a deletion timestamp, until it is seen without.
	Deleting bool `json:"deleting,omitempty"`
	// SecretMissingSince is when the access Secret of a Kyma under deletion was first found to be gone.
	SecretMissingSince time.Time `json:"secretMissingSince,omitzero"`
	// Last is the last report, for the details shown to people.
	Last status.ReportResult `json:"last,omitzero"`
	// ProcessingSince is since when the status says Processing.
	ProcessingSince time.Time `json:"processingSince,omitzero"`
	// Sync and SyncFault are the outcome of the last synchronization.
	Sync      syncing.Result `json:"sync,omitzero"`
	SyncFault fault.Fault    `json:"syncFault,omitzero"`
	// ResolveFault is the fault of the last resolution of modules and write of Manifests.
	ResolveFault fault.Fault `json:"resolveFault,omitzero"`
	// ReportFault is why the last report could not be written. Only this workflow shows it.
	ReportFault fault.Fault `json:"reportFault,omitzero"`
	// RemovalChecks counts the checks of a removal since the last kick.
	RemovalChecks int `json:"removalChecks,omitempty"`
	// Reconciled is true once a whole reconcile has ended.
	Reconciled bool `json:"reconciled,omitempty"`
	// NextReconcile is when the last reconcile asked for another, such as at the beginning of a maintenance window, and
	// NextReconcileFor what it waits for; zero means by a kick only.
	NextReconcile    time.Time `json:"nextReconcile,omitzero"`
	NextReconcileFor string    `json:"nextReconcileFor,omitempty"`
	// Purge is how far the deletion is with regard to its end by force.
	Purge removal.Purge `json:"purge,omitzero"`
	// NewestManifest is the newest resource version of a Manifest of the Kyma that the present reconcile knows of, or, under
	// deletion, all reconciles: a cache that lists the Manifests must be as new.
	NewestManifest string `json:"newestManifest,omitempty"`
	// NewestAgent is the same of its RemoteAgent.
	NewestAgent string `json:"newestAgent,omitempty"`
	// Paced is true when a removal waits for its turn at NextReconcile.
	Paced bool `json:"paced,omitempty"`
	// OwedDigest is the digest of the inputs of a reconcile whose report waits for the modules that it changed.
	OwedDigest string `json:"owedDigest,omitempty"`
}

// Workflow works for one Kyma as long as it exists: it synchronizes the remote cluster, writes Manifests, installs and removes
// modules, aggregates the status, and sleeps until something changes. Every step reads the live objects.
func Workflow(ctx workflow.Context, in Input) error {
	return newRun(ctx, in).run(ctx)
}

// run is one run of Workflow. Its coroutines are run, which reconciles the Kyma, work, and one per module at work.
type run struct {
	entity.Run
	state Carry
	// renew is true once a module waits for a run of another build, and stopping once the run ends the work on modules.
	renew, stopping bool
	// modules are the Manifests that have work, in the order of compareRefs. failure is why one of them could not go on.
	modules []*moduleRun
	failure error
	// paces are those of modules that had work a moment ago.
	paces []pacedModule
	// watches are the activities that read modules, and gather is how long the newest waits for news of others.
	watches []*watch
	gather  time.Duration
	// reports are those of modules that the next report of the Kyma writes too. With resting, the run sleeps and may take them.
	reports []*moduleReport
	resting bool
	// named are modules that the next resolution has worked on also if they have settled.
	named []string
	// seen are the versions named by the kicks that the present reconcile answers, left the one in which its last step left the Kyma.
	seen []mailbox.SeenVersion
	left string
	// deleted is true if the present reconcile deleted Manifests. Of the modules that it changed, all were applied with applied, and
	// with settled none has to be waited for.
	deleted, applied, settled bool

	inBackground *background.Activities
	resolve      *resolve.Activities
	sync         *syncing.Activities
	status       *status.Activities
	purges       *purge.Activities
	installs     *install.Activities
}

func newRun(ctx workflow.Context, in Input) *run {
	if in.Carry == nil {
		in.Carry = &Carry{}
	}
	r := &run{Run: entity.NewRun(ctx, in.Ref, in.Carry.Carry), state: *in.Carry}
	r.Post.Route = r.route
	if r.state.Published == nil {
		r.state.Published = attributes.StartedWith(ctx)
	}
	r.resumeModules()
	r.viewReport()
	r.Show(ctx)
	return r
}

// run is the life of one run: decide what to do next, do it, until there is nothing to do any more.
func (r *run) run(ctx workflow.Context) error {
	if err := r.serve(ctx); err != nil {
		return err
	}
	workflow.GoNamed(ctx, "modules", r.work)
	workflow.GoNamed(ctx, "watches", r.watchModules)
	for {
		r.Drain()
		if r.failure != nil {
			return r.failure
		}
		step := r.next(ctx)
		if step != stepReport {
			r.declineReports()
		}
		switch step {
		case stepContinue:
			if err := r.stopModules(ctx); err != nil {
				return err
			}
			return r.ContinueAsNew(ctx, kick.KymaWorkflow, r.input)
		case stepReconcile:
			if err := r.reconcile(ctx); err != nil {
				return err
			}
		case stepReport:
			if err := r.report(ctx); err != nil {
				return err
			}
		case stepRemove:
			if err := r.remove(ctx); err != nil {
				return err
			}
		case stepForget:
			r.Box.TakeDue()
		case stepComplete:
			// A local activity may have run in this task: it found the Kyma gone, and may do so again.
			if done, err := r.MayComplete(ctx, r.isIdle); done || err != nil {
				return err
			}
		case stepSleep:
			r.resting = true
			err := r.Rest(ctx, r.sleepsFor(), r.mustWake(ctx))
			r.resting = false
			if err != nil {
				return err
			}
		}
	}
}

// isIdle reports whether no module has work.
func (r *run) isIdle() bool { return len(r.modules) == 0 }

// isQuiet reports whether no module takes a step: all that have work wait.
func (r *run) isQuiet() bool {
	return !slices.ContainsFunc(r.modules, func(m *moduleRun) bool { return m.waitingFor == "" })
}

// mustWake returns the condition that ends the run's sleep, besides kicks and its own time.
func (r *run) mustWake(ctx workflow.Context) func() bool {
	busy := !r.isIdle()
	return func() bool {
		return r.failure != nil || len(r.reports) > 0 || r.mustRenew(ctx) || busy && r.isIdle() && r.gone()
	}
}

// mustRenew reports whether the run has to end because a module waits for the next one. It has to even if the build that began the
// run executes it again, as can happen during a rolling update.
func (r *run) mustRenew(ctx workflow.Context) bool {
	return r.renew && workflow.AllHandlersFinished(ctx)
}

// input is what the next run starts with.
func (r *run) input() any {
	carry := r.state
	carry.Carry, carry.Modules = r.Carried(), r.carryModules()
	return Input{Ref: r.Ref, Carry: &carry}
}

// sleepsFor says in words what a sleeping run waits for.
func (r *run) sleepsFor() string {
	switch {
	case r.state.Deleting:
		return r.state.Purge.WaitsFor()
	case !r.RetryAt.IsZero() && r.Fault.IsZero():
		return r.state.NextReconcileFor + " at " + r.state.NextReconcile.UTC().Format(time.RFC3339)
	case !r.RetryAt.IsZero():
		return "the next attempt: " + r.Fault.Reason
	case !r.Fault.IsZero():
		return "a change: " + r.Fault.Reason
	case r.state.OwedDigest != "":
		return "the modules that were changed"
	case r.Box.Pending.Count > 0:
		return "the rate limit before the next reconcile"
	case r.Box.Later.Count > 0:
		return "its turn at " + r.Box.Later.NotBefore.UTC().Format(time.RFC3339) + ": " + r.Box.Later.Reason
	case !r.isIdle():
		return "its modules"
	default:
		return "a change"
	}
}
