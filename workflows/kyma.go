package workflows

import (
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/background"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/purge"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/status"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/attempts"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/attributes"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/build"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/ending"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/logic"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/mailbox"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/removal"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/view"
)

// KymaInput is the input of KymaWorkflow. Starters set Ref only (kick.Start).
type KymaInput struct {
	Ref   kick.Ref   `json:"ref"`
	Carry *KymaCarry `json:"carry,omitempty"`
}

// KymaCarry is what a Kyma's workflow carries from run to run.
type KymaCarry struct {
	Carry
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

// KymaWorkflow works for one Kyma as long as it exists: it synchronizes the remote cluster, writes Manifests, installs and removes
// modules, aggregates the status, and sleeps until something changes. Every step reads the live objects.
func KymaWorkflow(ctx workflow.Context, in KymaInput) error {
	return newKymaRun(ctx, in).run(ctx)
}

// kymaRun is one run of KymaWorkflow. Its coroutines are run, which reconciles the Kyma, work, and one per module at work.
type kymaRun struct {
	entity
	mail  *mailbox.Mailbox
	build string
	state KymaCarry
	view  view.View
	// renew is true once a module waits for a run of another build, stopping once the run ends the work on modules, and ending
	// once it is about to end.
	renew, stopping, ending bool
	// modules are the Manifests that have work, in the order of compareRefs. failure is why one of them could not go on.
	modules []*moduleRun
	failure error
	// named are modules that the next resolution has worked on also if they have settled.
	named []string
	// seen are the versions named by the kicks that the present reconcile answers, left the one in which its last step left the Kyma.
	seen []mailbox.SeenVersion
	left string
	// deleted is true when the present reconcile deleted Manifests, settled if all modules that it changed are ready.
	deleted, settled bool

	inBackground *background.Activities
	resolve      *resolve.Activities
	sync         *syncing.Activities
	status       *status.Activities
	purges       *purge.Activities
	installs     *install.Activities
}

func newKymaRun(ctx workflow.Context, in KymaInput) *kymaRun {
	logic.Of(ctx)
	info := workflow.GetInfo(ctx)
	r := &kymaRun{mail: mailbox.New(ctx, mailbox.Pending{}, mailbox.Pending{}), build: build.Of(ctx)}
	r.entity = entity{ref: in.Ref, id: info.WorkflowExecution.ID, post: r.mail, box: &r.mail.Box, local: &attempts.Local{}}
	r.mail.Route = r.route
	if in.Carry != nil {
		r.state = *in.Carry
		r.restore(in.Carry.Carry)
	}
	if r.state.Published == nil {
		r.state.Published = attributes.StartedWith(ctx)
	}
	r.resumeModules()
	r.view.Of, r.view.Since = in.Ref.String(), workflow.Now(ctx)
	r.viewReport()
	r.show(ctx)
	return r
}

// run is the life of one run: decide what to do next, do it, until there is nothing to do any more.
func (r *kymaRun) run(ctx workflow.Context) error {
	if err := r.serve(ctx); err != nil {
		return err
	}
	if err := r.servePurge(ctx); err != nil {
		return err
	}
	workflow.GoNamed(ctx, "modules", r.work)
	for {
		r.drain()
		if r.failure != nil {
			return r.failure
		}
		switch step := r.next(ctx); step {
		case kymaContinue:
			if err := r.stopModules(ctx); err != nil {
				return err
			}
			if err := r.freshTask(ctx); err != nil {
				return err
			}
			return ending.AsNew(ctx, r.mail, &r.ending, kick.KymaWorkflow, r.input)
		case kymaReconcile:
			if err := r.reconcile(ctx); err != nil {
				return err
			}
		case kymaReport:
			if err := r.report(ctx); err != nil {
				return err
			}
		case kymaRemove:
			if err := r.remove(ctx); err != nil {
				return err
			}
		case kymaForget:
			r.box.TakeDue()
		case kymaComplete:
			// A local activity may have run in this task: it found the Kyma gone, and may do so again.
			if done, err := ending.Quietly(ctx, r.mail, &r.ending, r.isIdle); done || err != nil {
				return err
			}
		case kymaSleep:
			r.waitingFor(ctx, r.sleepsFor())
			if err := r.sleep(ctx, r.view.WaitingFor, r.mustWake(ctx)); err != nil {
				return err
			}
		}
	}
}

// freshTask goes on in a workflow task in which no local activity ran. A run continues as new only in such a task: a signal that
// comes in meanwhile fails it, and its local activities would be executed again.
func (r *kymaRun) freshTask(ctx workflow.Context) error {
	if !r.local.Ran(workflow.Now(ctx)) {
		return nil
	}
	return workflow.NewTimerWithOptions(ctx, time.Millisecond, workflow.TimerOptions{Summary: "the end of the run"}).Get(ctx, nil)
}

// isIdle reports whether no module has work.
func (r *kymaRun) isIdle() bool { return len(r.modules) == 0 }

// isQuiet reports whether no module takes a step: all that have work wait.
func (r *kymaRun) isQuiet() bool {
	return !slices.ContainsFunc(r.modules, func(m *moduleRun) bool { return m.waitingFor == "" })
}

// mustWake returns the condition that ends the run's sleep, besides kicks and its own time.
func (r *kymaRun) mustWake(ctx workflow.Context) func() bool {
	busy := !r.isIdle()
	return func() bool {
		return r.failure != nil || r.renew || r.mail.Forced && workflow.AllHandlersFinished(ctx) || busy && r.isIdle() && r.gone()
	}
}

// input is what the next run starts with.
func (r *kymaRun) input() any {
	carry := r.state
	carry.Carry, carry.Modules = r.carry(), r.carryModules()
	return KymaInput{Ref: r.ref, Carry: &carry}
}

// sleepsFor says in words what a sleeping run waits for.
func (r *kymaRun) sleepsFor() string {
	switch {
	case r.state.Deleting:
		return r.state.Purge.WaitsFor()
	case !r.retryAt.IsZero() && r.fault.IsZero():
		return r.state.NextReconcileFor + " at " + r.state.NextReconcile.UTC().Format(time.RFC3339)
	case !r.retryAt.IsZero():
		return "the next attempt: " + r.fault.Reason
	case !r.fault.IsZero():
		return "a change: " + r.fault.Reason
	case r.state.OwedDigest != "":
		return "the modules that were changed"
	case r.box.Pending.Count > 0:
		return "the rate limit before the next reconcile"
	case r.box.Later.Count > 0:
		return "its turn at " + r.box.Later.NotBefore.UTC().Format(time.RFC3339) + ": " + r.box.Later.Reason
	case !r.isIdle():
		return "its modules"
	default:
		return "a change"
	}
}

// doing shows what the run does now.
func (r *kymaRun) doing(ctx workflow.Context, what string) {
	r.view.Do(what, workflow.Now(ctx))
	r.show(ctx)
}

// waitingFor shows what the run waits for.
func (r *kymaRun) waitingFor(ctx workflow.Context, what string) {
	r.doing(ctx, "waiting")
	r.view.WaitingFor = what
	r.show(ctx)
}

// show sets the current details, a short Markdown text for the UI.
func (r *kymaRun) show(ctx workflow.Context) {
	workflow.SetCurrentDetails(ctx, r.view.Markdown())
}
