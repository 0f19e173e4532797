package kyma

import (
	"cmp"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/purge"
	"github.com/kyma-project/lifecycle-manager/activities/uninstall"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/entity"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/mailbox"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/view"
)

// ModuleCarry is the state of one unsettled Manifest that a Kyma's workflow carries from run to run.
type ModuleCarry struct {
	entity.Carry
	Ref      kick.Ref    `json:"ref"`
	Phase    modulePhase `json:"phase,omitempty"`
	Deleting bool        `json:"deleting,omitempty"`
	// Purging is true once the module has to be purged. PurgeAttempts counts failed purges.
	Purging       bool `json:"purging,omitempty"`
	PurgeAttempts int  `json:"purgeAttempts,omitempty"`
	// PurgeRounds counts the purges that did not complete but made progress.
	PurgeRounds int `json:"purgeRounds,omitempty"`
	// Reported is the module's state in the Manifest's status. Its texts are shortened: the status has the full text.
	Reported readiness.Observed `json:"reported,omitzero"`
	// ReportedAt is when Reported was written.
	ReportedAt time.Time `json:"reportedAt,omitzero"`
	// Shown is true once the Kyma's status shows what the module waits for.
	Shown bool `json:"shown,omitempty"`
	// InputsDigest is the digest of the last reconcile's inputs.
	InputsDigest string `json:"inputsDigest,omitempty"`
	Module       string `json:"module,omitempty"`
	Version      string `json:"version,omitempty"`
}

// moduleRun is the work on one Manifest until it has settled. It installs or upgrades the module, creates its default
// custom resource, watches its health, and removes it when the Manifest is deleted. The next kick starts the work
// again.
type moduleRun struct {
	entity.Entity
	state ModuleCarry
	kyma  *run
	// installed is the result if a reconcile of the Kyma has installed the module, or else nil.
	installed *install.ApplyResult
	// followed is true while the module waits for news. watch is the activity that reads the module, and news is the
	// result. watchedBefore is true if an earlier activity has read the module during the same wait.
	followed, watchedBefore bool
	watch                   *watch
	news                    *install.ModuleNews
	// running is true while the module's coroutine runs, and cancel cancels its steps.
	running bool
	cancel  func()
	// doing and waitingFor are only for people.
	doing, waitingFor string
	// doingSince is when the module began with doing or waitingFor.
	doingSince time.Time

	install   *install.Activities
	uninstall *uninstall.Activities
	purges    *purge.Activities
}

func newModuleRun(r *run, ref kick.Ref) *moduleRun {
	m := &moduleRun{kyma: r, cancel: func() {}}
	m.Entity = entity.Entity{Ref: ref, ID: ref.Namespace + "/" + ref.Name + "/" + string(ref.UID), Post: r.Post, Box: &mailbox.Box{}, Local: r.Local}
	m.state.Ref = ref
	for _, before := range r.paces {
		if before.ref == ref {
			m.Pace, m.state.Phase = before.pace, phaseEnded
		}
	}
	return m
}

func (m *moduleRun) resumeFrom(carried ModuleCarry) {
	m.state = carried
	m.Restore(carried.Carry)
	if m.state.Phase == phaseReconcile && !m.Box.Any() {
		m.Box.Put(kick.Kick{Reason: "the previous run was cut short", Urgent: true})
	}
}

// maxCarriedText bounds the texts that a run carries. The statuses of Manifests have the full texts.
const maxCarriedText = 200

// carried returns the state for the next run.
func (m *moduleRun) carried() ModuleCarry {
	carry := m.state
	carry.Carry, carry.Reported = m.Carried(), carry.Reported.Compared()
	for _, text := range []*string{&carry.Fault.Message, &carry.Fault.Hint} {
		*text = fault.Shorten(*text, maxCarriedText)
	}
	return carry
}

// isToBegin reports whether the module has work but no running coroutine.
func (m *moduleRun) isToBegin() bool {
	return !m.running && (m.Box.Any() || m.state.Phase != phaseReconcile && m.state.Phase != phaseEnded)
}

// inStep reports whether a requested step has not ended yet.
func (m *moduleRun) inStep() bool { return m.Box.Any() || m.Ended < m.Started }

// live is the module's coroutine.
func (m *moduleRun) live(ctx workflow.Context) {
	ctx, m.cancel = workflow.WithCancel(ctx)
	err := m.run(ctx)
	m.running, m.installed, m.doing, m.waitingFor = false, nil, "", ""
	switch {
	case err != nil && !temporal.IsCanceledError(err):
		m.kyma.failure = err
	case m.state.Phase == phaseEnded && !m.Box.Any():
		m.kyma.forget(m, workflow.Now(ctx))
	}
	m.kyma.viewReport()
	m.kyma.Show(ctx)
}

// run takes steps until the Manifest has settled or is gone, or the workflow's run ends.
func (m *moduleRun) run(ctx workflow.Context) error {
	for {
		m.Drain()
		if err := m.awaitNewRun(ctx); err != nil || m.kyma.stopping {
			return err
		}
		before, probed := m.Fault.Kind, !m.RetryAt.IsZero()
		done, err := m.step(ctx, m.next(ctx))
		if before == fault.Unreachable && err == nil {
			m.afterProbe(probed)
		}
		if done || err != nil {
			return err
		}
	}
}

// afterProbe tells the parked modules what a step found about a cluster that was unreachable before. probed is true
// if this module is the one that retries for all.
func (m *moduleRun) afterProbe(probed bool) {
	switch {
	case m.Fault.Kind != fault.Unreachable:
		m.kyma.unpark(true)
	case probed && m.RetryAt.IsZero():
		m.kyma.unpark(false)
	}
}

// isParked reports whether the module waits for another module to reach the cluster.
func (m *moduleRun) isParked() bool {
	return m.state.Phase == phaseRest && m.Fault.Kind == fault.Unreachable && m.RetryAt.IsZero()
}

// awaitNewRun makes the workflow continue as new, and waits for that, if the module is due and another build executes
// the run now. The module then acts in the next run.
func (m *moduleRun) awaitNewRun(ctx workflow.Context) error {
	if !m.IsDue(ctx) || !m.kyma.NewBuild(ctx) {
		return nil
	}
	m.kyma.renew = true
	return workflow.Await(ctx, func() bool { return m.kyma.stopping })
}

// step takes one step. It returns true if nothing is left to do.
func (m *moduleRun) step(ctx workflow.Context, step moduleStep) (bool, error) {
	switch step {
	case moduleReconcile:
		return false, m.reconcile(ctx)
	case moduleFollow:
		return false, m.follow(ctx)
	case moduleRemove:
		return false, m.remove(ctx)
	case modulePurge:
		return false, m.purge(ctx)
	case moduleFollowRemoval:
		return false, m.followRemoval(ctx)
	case moduleSleep:
		m.waits(ctx, m.sleepsFor())
		parked := m.isParked()
		return false, m.sleep(ctx, func() bool { return m.kyma.stopping || parked && m.state.Phase == phaseEnded })
	case moduleEnd:
	}
	return true, nil
}

// sleep sleeps until the module is due, or until also is true.
func (m *moduleRun) sleep(ctx workflow.Context, also func() bool) error {
	return m.Sleep(ctx, m.name()+": "+m.waitingFor, also)
}

// sleepsFor returns, for people, what a sleeping module waits for.
func (m *moduleRun) sleepsFor() string {
	if !m.RetryAt.IsZero() {
		return "the next attempt: " + m.Fault.Reason
	}
	if m.isParked() {
		return "another module to reach the cluster: " + m.Fault.Reason
	}
	return "the rate limit before the next reconcile"
}

// does shows the current work on the module.
func (m *moduleRun) does(ctx workflow.Context, what string) { m.showDoing(ctx, what, "") }

// waits shows what the module waits for.
func (m *moduleRun) waits(ctx workflow.Context, what string) { m.showDoing(ctx, "", what) }

func (m *moduleRun) showDoing(ctx workflow.Context, doing, waitingFor string) {
	if m.doing != doing || m.waitingFor != waitingFor {
		m.doing, m.waitingFor, m.doingSince = doing, waitingFor, workflow.Now(ctx)
	}
	m.kyma.viewReport()
	m.kyma.Show(ctx)
}

// name returns the module's name, or the Manifest's name while the module's name is unknown.
func (m *moduleRun) name() string { return cmp.Or(m.state.Module, m.Ref.Name) }

// row returns the module's row in the view of its Kyma.
func (m *moduleRun) row() view.Row {
	return view.Row{
		Name: m.name(), Version: m.state.Version, State: string(m.state.Reported.State),
		Message: m.state.Reported.Message, Doing: m.doing, WaitingFor: m.waitingFor, Since: m.doingSince, Attempt: m.Attempt,
	}
}

// reported records the state that the Manifest's status has now.
func (m *moduleRun) reported(ctx workflow.Context, o readiness.Observed) {
	m.state.Reported, m.state.ReportedAt = o, workflow.Now(ctx)
	m.kyma.viewReport()
}
