// Package kyma has the workflow of a Kyma, which is open as long as the Kyma exists. It synchronizes the remote
// cluster, writes Manifests, installs and removes modules, and aggregates the status. Each part is an activity; the
// workflow decides their order and timing.
//
//	kyma.go      Workflow and its loop; next.go decides the next step
//	             reconcile.go, background.go, report.go, removal.go and purge.go take the steps
//	             update.go answers callers; versions.go tracks the versions of objects that kicks named
//	modules.go   the modules with work: each has its own coroutine
//	module.go    the work on one Manifest until it has settled; module_next.go decides the next step
//	             module_reconcile.go, module_follow.go, module_removal.go and module_purge.go take the steps
//	watch.go     the activities that read modules until there is news of them
//
// The main loop (run.run) and the coroutines of modules (moduleRun.run) share the mailbox of the run. A kick with
// Work set goes to the box of its module (run.route), and every other kick goes to the box of the Kyma.
//
// What must stay true:
//
// - Only one step at a time writes for a Manifest, and only one for the status of the Kyma.
// - A module that hangs delays neither other modules nor the Kyma.
// - Every step reads the desired state again.
// - No decision depends on the order of a map: modules are sorted by name.
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

// Carry is the state that a Kyma's workflow carries from run to run.
type Carry struct {
	entity.Carry
	// Modules are the Manifests that have not settled.
	Modules []ModuleCarry `json:"modules,omitempty"`
	// Published holds the search attributes as last upserted. They stay with the workflow across runs.
	Published map[string]string `json:"published,omitempty"`
	// Deleting is true if the Kyma had a deletion timestamp when it was last read.
	Deleting bool `json:"deleting,omitempty"`
	// SecretMissingSince is when the access Secret of a Kyma under deletion was first found missing.
	SecretMissingSince time.Time `json:"secretMissingSince,omitzero"`
	// Last is the last report. The details show it.
	Last status.ReportResult `json:"last,omitzero"`
	// ProcessingSince is when the status became Processing.
	ProcessingSince time.Time `json:"processingSince,omitzero"`
	// Sync and SyncFault are the result of the last synchronization.
	Sync      syncing.Result `json:"sync,omitzero"`
	SyncFault fault.Fault    `json:"syncFault,omitzero"`
	// ResolveFault is the fault of the last attempt to resolve modules and write Manifests.
	ResolveFault fault.Fault `json:"resolveFault,omitzero"`
	// ReportFault is why the last report could not be written. Only this workflow shows it.
	ReportFault fault.Fault `json:"reportFault,omitzero"`
	// RemovalChecks counts the checks of a removal since the last kick.
	RemovalChecks int `json:"removalChecks,omitempty"`
	// Reconciled is true once a whole reconcile has ended.
	Reconciled bool `json:"reconciled,omitempty"`
	// NextReconcile is when the last reconcile asked for another one, for example at the start of a maintenance
	// window. NextReconcileFor says what it waits for. Zero means only after a kick.
	NextReconcile    time.Time `json:"nextReconcile,omitzero"`
	NextReconcileFor string    `json:"nextReconcileFor,omitempty"`
	// Purge is the progress of the deletion towards being forced.
	Purge removal.Purge `json:"purge,omitzero"`
	// NewestManifest is the newest resource version of a Manifest that the current reconcile knows of. Under
	// deletion, it covers all reconciles. A cache that lists the Manifests must be at least as new.
	NewestManifest string `json:"newestManifest,omitempty"`
	// NewestAgent is the same for the Kyma's RemoteAgent.
	NewestAgent string `json:"newestAgent,omitempty"`
	// Paced is true if a removal waits for its turn at NextReconcile.
	Paced bool `json:"paced,omitempty"`
	// OwedDigest is the inputs digest of a reconcile that changed modules and still owes its report.
	OwedDigest string `json:"owedDigest,omitempty"`
}

// Workflow works for one Kyma as long as the Kyma exists. It synchronizes the remote cluster, writes Manifests,
// installs and removes modules, aggregates the status, and sleeps until something changes. Every step reads the live
// objects.
func Workflow(ctx workflow.Context, in Input) error {
	return newRun(ctx, in).run(ctx)
}

// run is one run of Workflow. Its coroutines are run for the Kyma, work and watchModules, and moduleRun.live for each
// module with work.
type run struct {
	entity.Run
	state Carry
	// renew is true if a module waits for a run of the new build. stopping is true once the run stops the work on
	// modules.
	renew, stopping bool
	// modules are the Manifests with work, sorted by compareRefs. failure is the error that stopped the work on one
	// of them.
	modules []*moduleRun
	failure error
	// paces are the paces of modules whose work has ended recently.
	paces []pacedModule
	// watches are the activities that read modules. gather is how long the newest one collects news after the first.
	watches []*watch
	gather  time.Duration
	// reports are states of modules for the next report of the Kyma to write. While resting is true, the run sleeps
	// and accepts them.
	reports []*moduleReport
	resting bool
	// named are modules that the next resolution has to include even if they have settled.
	named []string
	// seen are the versions that the current reconcile's kicks named. left is the version in which the reconcile's
	// last step left the Kyma.
	seen []mailbox.SeenVersion
	left string
	// deleted is true if the current reconcile deleted Manifests. applied is true if all modules that it changed were
	// applied, settled if none of them needs a wait.
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

// run decides on the next step and takes it, until nothing is left to do or the run continues as new.
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
			// A local activity may have run in this task. It found the Kyma gone, and a repeated one would too.
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

// isQuiet reports whether all modules with work wait, and none takes a step.
func (r *run) isQuiet() bool {
	return !slices.ContainsFunc(r.modules, func(m *moduleRun) bool { return m.waitingFor == "" })
}

// mustWake returns the condition that ends the run's sleep early, in addition to kicks.
func (r *run) mustWake(ctx workflow.Context) func() bool {
	busy := !r.isIdle()
	return func() bool {
		return r.failure != nil || len(r.reports) > 0 || r.mustRenew(ctx) || busy && r.isIdle() && r.gone()
	}
}

// mustRenew reports whether the run has to end because a module waits for the next one. The run has to end even if
// the build that began it executes it again, which can happen during a rolling update.
func (r *run) mustRenew(ctx workflow.Context) bool {
	return r.renew && workflow.AllHandlersFinished(ctx)
}

// input returns the input of the next run.
func (r *run) input() any {
	carry := r.state
	carry.Carry, carry.Modules = r.Carried(), r.carryModules()
	return Input{Ref: r.Ref, Carry: &carry}
}

// sleepsFor returns, for people, what a sleeping run waits for.
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
