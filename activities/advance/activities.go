// Package advance has the activity that a rollout's workflow takes its steps by: it reads the rollout live, sees from
// informers how the clusters are that it concerns, lets package rollout decide, and writes the rollout's status. Which version
// a cluster gets follows from that status (package desired); watchers hear of it and kick the Kymas.
//
//	activities.go the activity
//	observations.go  what informers know of the clusters that a rollout concerns
//	analysis.go   what Prometheus says of a stage
//	catalog.go    what the release meta wishes, whether there is a newer rollout, whether one may go back, whether it is a hot-fix
//	promotion.go  what the release meta says of the next channel, and the edit that gives it the version
//	status.go     the status, and Events about what is new in it
//	concerns.go   which clusters a rollout concerns, for watchers too
//	expected.go   the rollout that a version would get, its stages, and what its promotion would wait for, for forecasts
package advance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// Options are what the activity needs.
type Options struct {
	Settings desired.Settings
	// ControlPlane reads live and writes.
	ControlPlane client.Client
	// Informers have Kymas, Manifests and the catalog, with the indexes of desired and fleet.
	Informers client.Reader
	// SameFailures is rollout.Situation.SameFailures.
	SameFailures int32
	// NoApprovals says why approvals are not accepted; empty where they are.
	NoApprovals string
	// Prometheus answers the queries of analyses; nil where none is configured.
	Prometheus Prometheus
	// Events may be nil.
	Events hint.Recorder
	// Clock is time.Now by default.
	Clock func() time.Time
}

// Activities work on ModuleRollouts.
type Activities struct {
	Options

	asked asked
}

// New makes the activities.
func New(o Options) (*Activities, error) {
	if o.ControlPlane == nil || o.Informers == nil {
		return nil, errors.New("advance: ControlPlane and Informers must be given")
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	o.Settings = o.Settings.WithDefaults()
	return &Activities{Options: o}, nil
}

// In is the input of AdvanceRollout.
type In struct {
	Ref kick.Ref `json:"ref"`
}

// Out is its result.
type Out struct {
	// Gone is true where there is no such rollout, or it is not this instance's.
	Gone bool `json:"gone,omitempty"`
	// Ended is true where nothing more is to be done.
	Ended bool `json:"ended,omitempty"`
	// Phase, Stage, Progress and WaitsFor are those of the rollout's status.
	Phase    string `json:"phase,omitempty"`
	Stage    string `json:"stage,omitempty"`
	Progress string `json:"progress,omitempty"`
	WaitsFor string `json:"waitsFor,omitempty"`
	// Until is when to look again without a change; zero is never.
	Until time.Time `json:"until,omitzero"`
}

// AdvanceRollout takes the next step of a rollout, as far as it goes now. It may run twice: what it decides follows from what
// it reads, and it writes the status of the rollout as it read it.
func (a *Activities) AdvanceRollout(ctx context.Context, in In) (Out, error) {
	r := &v1beta2.ModuleRollout{}
	err := a.ControlPlane.Get(ctx, in.Ref.Key(), r)
	if apierrors.IsNotFound(err) {
		return Out{Gone: true}, nil
	}
	if err != nil {
		return Out{}, fmt.Errorf("read ModuleRollout %s: %w", in.Ref, err)
	}
	if r.UID != in.Ref.UID || !a.Settings.Ours(r.Labels) || !r.DeletionTimestamp.IsZero() {
		return Out{Gone: true}, nil
	}
	before, until := r.DeepCopy(), time.Time{}
	if r.IsAtWork() {
		if until, err = a.decide(ctx, r); err != nil {
			return Out{}, err
		}
		if err := a.report(ctx, before, r); err != nil {
			return Out{}, err
		}
	}
	s := r.Status
	return Out{
		Ended: !r.IsAtWork(), Phase: string(s.Phase), Stage: s.StageName, Progress: s.Progress, WaitsFor: s.WaitsFor, Until: until,
	}, nil
}

// decide gives the rollout the status that follows from what is seen now, and returns when to look again.
func (a *Activities) decide(ctx context.Context, r *v1beta2.ModuleRollout) (time.Time, error) {
	situation := rollout.Situation{Now: a.Clock(), SameFailures: a.SameFailures, NoApprovals: a.NoApprovals}
	if err := a.readCatalog(ctx, r, &situation); err != nil {
		return time.Time{}, err
	}
	observations, err := a.observations(ctx, r)
	if err != nil {
		return time.Time{}, err
	}
	clusters := lists.Map(observations, func(observation rollout.Observation) rollout.Cluster { return observation.Cluster })
	rollout.FixBounds(r, clusters)
	observed := rollout.Observe(r, observations, situation.Now)
	if err := a.analyse(ctx, r, observed, &situation); err != nil {
		return time.Time{}, err
	}
	next, until := rollout.Decide(r, observed, situation)
	before := *r
	if r.Status = next; r.IsBeingPromoted() {
		return a.promote(ctx, r, observed, situation)
	}
	within := rollout.Recheck(r, situation.Now)
	if concernsQuiet(&before, r, observations) {
		within = recheckQuiet
	}
	return notAfter(until, next.Phase, situation.Now.Add(within)), nil
}

// recheckQuiet is when clusters are counted again of which some tell nothing of their own accord.
const recheckQuiet = 5 * time.Second

// concernsQuiet tells whether a step is about clusters that cannot be updated now: nothing of them changes, so no kick comes
// for them, and those after them would wait for rollout.Recheck. They are not passed over at once, for what they wait for may have been
// another version: with this one they may update, and then they count.
func concernsQuiet(before, after *v1beta2.ModuleRollout, observations []rollout.Observation) bool {
	if before.Status.Stage == after.Status.Stage && before.Status.Released == after.Status.Released {
		return false
	}
	place := rollout.PlaceFunc(after)
	return slices.ContainsFunc(observations, func(s rollout.Observation) bool {
		at := place(s.Cluster)
		return (s.Unreachable || s.Waits) && rollout.Released(before, at) != rollout.Released(after, at)
	})
}

func notAfter(until time.Time, phase v1beta2.RolloutPhase, at time.Time) time.Time {
	isUnderWay := phase == v1beta2.RolloutProgressing || phase == v1beta2.RolloutReverting
	if isUnderWay && (until.IsZero() || at.Before(until)) {
		return at
	}
	return until
}
