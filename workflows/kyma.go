package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/look"
	"github.com/kyma-project/lifecycle-manager/activities/purge"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/status"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
)

// KymaInput is the input of KymaWorkflow. Starters set Ref only (kick.Start).
type KymaInput struct {
	Ref   kick.Ref   `json:"ref"`
	Carry *KymaCarry `json:"carry,omitempty"`
}

// KymaCarry is what a Kyma's workflow carries from run to run.
type KymaCarry struct {
	Carry
	// Deleting is true once the Kyma was seen with a deletion timestamp, until it is seen without.
	Deleting bool `json:"deleting,omitempty"`
	// SecretMissingSince is when the access Secret of a Kyma under deletion was first found to be gone.
	SecretMissingSince time.Time `json:"secretMissingSince,omitzero"`
	// Last is the last report, for the details shown to people.
	Last status.ReportResult `json:"last,omitzero"`
	// Sync and SyncFault are the outcome of the last synchronization.
	Sync      syncing.Result `json:"sync,omitzero"`
	SyncFault fault.Fault    `json:"syncFault,omitzero"`
	// ResolveFault is the fault of the last look at the catalog and the Manifests.
	ResolveFault fault.Fault `json:"resolveFault,omitzero"`
	// ReportFault is why the last report could not be written. Nobody sees it but in this workflow.
	ReportFault fault.Fault `json:"reportFault,omitzero"`
	// RemovalChecks counts the looks at a removal since the last kick.
	RemovalChecks int `json:"removalChecks,omitempty"`
	// Looked is true once a whole look has ended.
	Looked bool `json:"looked,omitempty"`
	// NextLook is when the last look asked for another, such as at the beginning of a maintenance window, and
	// NextLookFor what it waits for; zero means by a kick only.
	NextLook    time.Time `json:"nextLook,omitzero"`
	NextLookFor string    `json:"nextLookFor,omitempty"`
	// Purge is where the deletion stands with regard to its end by force.
	Purge PurgeCarry `json:"purge,omitzero"`
	// NewestManifest is the newest resource version of a Manifest of the Kyma that the present look knows of, or, under
	// deletion, all looks: whoever says what Manifests there are must be as new.
	NewestManifest string `json:"newestManifest,omitempty"`
	// Paced is true when a removal waits for its turn at NextLook.
	Paced bool `json:"paced,omitempty"`
	// OwedDigest is the digest of the inputs of a look whose report waits for the modules that it changed.
	OwedDigest string `json:"owedDigest,omitempty"`
}

// KymaWorkflow works for one Kyma as long as it exists: it looks at the truth, synchronizes the remote
// cluster, writes Manifests, aggregates the status, and sleeps until something changes.
func KymaWorkflow(ctx workflow.Context, in KymaInput) error {
	r := newKymaRun(ctx, in)
	return r.run(ctx)
}

// kymaRun is one run of KymaWorkflow.
type kymaRun struct {
	entity
	state KymaCarry
	// seen are the versions that the kicks told of which the present look answers.
	seen []SeenVersion
	// deleted is true when the present look deleted Manifests.
	deleted bool

	looks   *look.Activities
	resolve *resolve.Activities
	sync    *syncing.Activities
	status  *status.Activities
	purges  *purge.Activities
}

func newKymaRun(ctx workflow.Context, in KymaInput) *kymaRun {
	r := &kymaRun{}
	if in.Carry != nil {
		r.state = *in.Carry
		r.entity = newEntity(ctx, in.Ref, &in.Carry.Carry)
	} else {
		r.entity = newEntity(ctx, in.Ref, nil)
	}
	r.viewReport()
	r.show(ctx)
	return r
}

// run is the life of one run: decide what to do next, do it, until there is nothing to do any more.
func (r *kymaRun) run(ctx workflow.Context) error {
	if err := r.serve(ctx, func() (string, string) { return string(r.state.Last.State), r.state.Last.Message }); err != nil {
		return err
	}
	if err := r.servePurge(ctx); err != nil {
		return err
	}
	for {
		r.mail.drain()
		switch step := r.next(ctx); step {
		case kymaContinue:
			return r.continueAsNew(ctx, kick.KymaWorkflow, r.input)
		case kymaLook:
			if err := r.look(ctx); err != nil {
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
		case kymaComplete:
			if done, err := r.complete(ctx); done || err != nil {
				return err
			}
		case kymaSleep:
			r.waitingFor(ctx, r.sleepsFor())
			r.show(ctx)
			if err := r.sleep(ctx, nil); err != nil {
				return err
			}
		}
	}
}

// input is what the next run starts with.
func (r *kymaRun) input() any {
	carry := r.state
	carry.Carry = r.carry()
	return KymaInput{Ref: r.ref, Carry: &carry}
}

// sleepsFor says in words what a sleeping run waits for.
func (r *kymaRun) sleepsFor() string {
	switch {
	case r.state.Deleting:
		return r.removalWaitsFor()
	case !r.retryAt.IsZero() && r.fault.IsZero():
		return r.state.NextLookFor + " at " + r.state.NextLook.UTC().Format(time.RFC3339)
	case !r.retryAt.IsZero():
		return "the next try: " + r.fault.Reason
	case !r.fault.IsZero():
		return "a change: " + r.fault.Reason
	case r.state.OwedDigest != "":
		return "the modules that were changed"
	case r.mail.pending.Count > 0:
		return "the pace to allow the next look"
	case r.mail.later.Count > 0:
		return "its turn at " + r.mail.later.NotBefore.UTC().Format(time.RFC3339) + ": " + r.mail.later.Reason
	default:
		return "a change"
	}
}
