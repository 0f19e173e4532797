package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/manifests"
	"github.com/kyma-project/lifecycle-manager/activities/purge"
	"github.com/kyma-project/lifecycle-manager/activities/readiness"
	"github.com/kyma-project/lifecycle-manager/activities/uninstall"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/view"
)

// ManifestInput is the input of ManifestWorkflow. Starters set Ref only (kick.Start).
type ManifestInput struct {
	Ref   kick.Ref       `json:"ref"`
	Carry *ManifestCarry `json:"carry,omitempty"`
}

// ManifestCarry is what a Manifest's workflow carries from run to run.
type ManifestCarry struct {
	Carry
	Phase    manifestPhase `json:"phase,omitempty"`
	Deleting bool          `json:"deleting,omitempty"`
	// Purging is true once this workflow was asked to force what remains of the module, and PurgeAttempts counts how
	// often that failed.
	Purging       bool `json:"purging,omitempty"`
	PurgeAttempts int  `json:"purgeTries,omitempty"`
	// PurgeRounds counts the purges that did not end but made progress, and Forced is what they forced.
	PurgeRounds int         `json:"purgeRounds,omitempty"`
	Forced      view.Forced `json:"forced,omitzero"`
	// Reported is what the Manifest's status says of the module, as far as this workflow wrote it.
	Reported readiness.Observed `json:"reported,omitzero"`
	// InputsDigest belongs to the last reconcile.
	InputsDigest string `json:"inputsDigest,omitempty"`
	Module       string `json:"module,omitempty"`
	Version      string `json:"version,omitempty"`
	Kyma         string `json:"kyma,omitempty"`
}

// ManifestWorkflow works for one Manifest until it has settled: it installs or upgrades the module,
// creates its default custom resource, follows its health, and removes it when the Manifest is deleted.
// The next change starts it again.
func ManifestWorkflow(ctx workflow.Context, in ManifestInput) error {
	r := newManifestRun(ctx, in)
	return r.run(ctx)
}

// manifestRun is one run of ManifestWorkflow.
type manifestRun struct {
	entity
	state ManifestCarry

	install   *install.Activities
	uninstall *uninstall.Activities
	purges    *purge.Activities
	steps     *manifests.Steps
}

func newManifestRun(ctx workflow.Context, in ManifestInput) *manifestRun {
	r := &manifestRun{}
	if in.Carry != nil {
		r.state = *in.Carry
		r.entity = newEntity(ctx, in.Ref, &in.Carry.Carry)
	} else {
		r.entity = newEntity(ctx, in.Ref, nil)
	}
	r.viewReported()
	r.show(ctx)
	return r
}

// run is the life of one run: decide what to do next, do it, until the Manifest has settled or is gone.
func (r *manifestRun) run(ctx workflow.Context) error {
	reached := func() (string, string) { return string(r.state.Reported.State), r.state.Reported.Message }
	if err := r.serve(ctx, reached); err != nil {
		return err
	}
	for {
		r.mail.Drain()
		done, err := r.step(ctx, r.next(ctx))
		if done || err != nil {
			return err
		}
	}
}

// step takes one step; it returns true when the run may return.
func (r *manifestRun) step(ctx workflow.Context, step manifestStep) (bool, error) {
	switch step {
	case manifestContinue:
		return false, r.continueAsNew(ctx, kick.ManifestWorkflow, r.input)
	case manifestReconcile:
		return false, r.reconcile(ctx)
	case manifestFollow:
		return false, r.follow(ctx)
	case manifestRemove:
		return false, r.remove(ctx)
	case manifestPurge:
		return false, r.purge(ctx)
	case manifestFollowRemoval:
		return false, r.followRemoval(ctx)
	case manifestComplete:
		return r.complete(ctx)
	case manifestSleep:
		r.waitingFor(ctx, r.sleepsFor())
		return false, r.sleep(ctx, nil)
	}
	return false, nil
}

// input is what the next run starts with.
func (r *manifestRun) input() any {
	carry := r.state
	carry.Carry = r.carry()
	return ManifestInput{Ref: r.ref, Carry: &carry}
}

// sleepsFor says in words what a sleeping run waits for.
func (r *manifestRun) sleepsFor() string {
	if !r.retryAt.IsZero() {
		return "the next attempt: " + r.fault.Reason
	}
	return "the rate limit before the next reconcile"
}
