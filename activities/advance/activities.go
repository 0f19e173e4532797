// Package advance takes the steps of a rollout (ModuleRollout).
//
// AdvanceRollout is the activity of a rollout's workflow. It reads the rollout live, observes from informers the clusters
// that the rollout concerns, lets the pure functions in package rollout decide, and writes the rollout's status. The
// status decides which version a cluster gets (package desired). Watchers see the new status and kick the Kymas.
//
// What must stay true:
//   - A step is safe to repeat. Its decision depends only on what it reads, and it writes the status at the
//     resourceVersion that it read.
//   - Informers may be behind. Clusters that were just released count as updating, so that a stale informer never
//     releases more clusters than allowed.
//   - If something cannot be read, nothing is decided.
//
// The files:
//   - observations.go observes the clusters.
//   - analysis.go asks Prometheus about a stage.
//   - catalog.go reads the channel's version, newer rollouts, whether clusters may be reverted, and the urgency.
//   - promotion.go edits the release meta to give the next channel the version.
//   - status.go writes the status and records Events.
//   - concerns.go finds the clusters that a rollout concerns, also for watchers.
//   - expected.go forecasts rollouts, their stages and their promotions.
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

// Options configures the activity.
type Options struct {
	Settings desired.Settings
	// ControlPlane reads live and writes.
	ControlPlane client.Client
	// Informers reads Kymas, Manifests and the catalog from a cache with the indexes of packages desired and fleet.
	Informers client.Reader
	// SameFailures has the meaning of rollout.Situation.SameFailures.
	SameFailures int32
	// NoApprovals says why approvals are not accepted. It is empty if they are accepted.
	NoApprovals string
	// Prometheus answers the queries of analyses. It is nil if no Prometheus is configured.
	Prometheus Prometheus
	Events     hint.Recorder
	// Clock defaults to time.Now.
	Clock func() time.Time
}

// Activities advances ModuleRollouts.
type Activities struct {
	Options

	asked asked
}

// New returns the activities.
func New(o Options) (*Activities, error) {
	if o.ControlPlane == nil || o.Informers == nil {
		return nil, errors.New("advance: ControlPlane and Informers must not be nil")
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

// Out is the result of AdvanceRollout.
type Out struct {
	// Gone is true if the rollout does not exist, is being deleted, or belongs to another instance.
	Gone bool `json:"gone,omitempty"`
	// Ended is true if nothing more has to be done.
	Ended bool `json:"ended,omitempty"`
	// Phase, Stage, Progress and WaitsFor are copied from the rollout's status.
	Phase    string `json:"phase,omitempty"`
	Stage    string `json:"stage,omitempty"`
	Progress string `json:"progress,omitempty"`
	WaitsFor string `json:"waitsFor,omitempty"`
	// Until is when to take the next step if nothing changes. Zero means never.
	Until time.Time `json:"until,omitzero"`
}

// AdvanceRollout takes the next step of a rollout, as far as possible now. It is safe to run twice: its decision depends
// only on what it reads, and it writes the status at the resourceVersion that it read.
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

// decide sets the status of the rollout that follows from the current observations. It returns when to take the next
// step.
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

// recheckQuiet is the delay before clusters are counted again if some of them cause no kicks.
const recheckQuiet = 5 * time.Second

// concernsQuiet reports whether a step changes what is released to clusters that cannot be updated now. Such a cluster
// does not change, so it causes no kick, and the clusters after it would wait for rollout.Recheck. The step must not skip
// them immediately: they may have been waiting because of another version, and may update to this one.
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
