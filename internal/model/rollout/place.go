// Package rollout decides which version of a module a cluster has during a staged rollout (a ModuleRollout resource),
// and what the rollout does next. It has no side effects: package advance reads the inputs and writes the results.
//
// For one cluster, VersionFor returns the version by the rollouts in force:
//
//	inForce := rollout.InForce(rolloutsOfModule, channel, desired)
//	decision := rollout.VersionFor(inForce, desired, rollout.ClusterOf(kyma), installed)
//
// For a rollout, Observe counts the states of its clusters, Decide returns its next status and when to decide again,
// and Promote continues after its completion:
//
//	observed := rollout.Observe(r, observations, now)
//	status, until := rollout.Decide(r, observed, situation)
//
// Invariants (properties_test.go checks them in simulations):
//   - A cluster's place depends only on the rollout and on the cluster's uid and labels. So everyone who
//     computes the place gets the same result, without a list of clusters.
//   - While rollouts are in force, a cluster keeps its version until a rollout gives it another one or reverts it.
//   - No more clusters are updated at once than the plan allows, and no stage starts before the earlier one has
//     settled.
//   - Deciding again without new observations changes nothing.
//
// The files:
//
//	place.go       the place of a cluster in a rollout: stage, and position in hash order
//	chain.go       the rollouts of a channel, and the version that they give a cluster
//	plan.go        the settings of a stage, with defaults
//	policy.go      the policy of a channel
//	observed.go    observed clusters: counts per stage, failures grouped by cause
//	decide.go      the next step of a rollout: release, wait, hold, revert, end
//	analysis.go    Prometheus queries of a stage, and their results
//	approvals.go   missing approvals
//	deferral.go    how long the owner of a cluster defers a version
//	promote.go     promotion of the version to the next channel
//	spacing.go     the time between two steps
//	conditions.go  conditions of a rollout for kstatus
//	upgrade.go     the last upgrade, recorded on a Manifest
//	heldback.go    why a Manifest does not get a version, recorded on the Manifest
package rollout

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Everyone is the position after the last one in hash order. Positions have 53 bits, so that no JSON parser rounds
// them.
const Everyone int64 = 1 << 53

// Rest is the name of the stage for the clusters that are in no other stage.
const Rest = "rest"

// Cluster has the facts that decide about the place of a cluster in a rollout.
type Cluster struct {
	UID    types.UID
	Labels map[string]string
}

// ClusterOf returns the Cluster of a Kyma.
func ClusterOf(kyma *v1beta2.Kyma) Cluster { return Cluster{UID: kyma.UID, Labels: kyma.Labels} }

// Place is the place of a cluster in a rollout.
type Place struct {
	// Stage is the position of the cluster's stage in Stages.
	Stage int
	// Position is the cluster's position in hash order, from 0 to Everyone.
	Position int64
}

// Position returns the position of a cluster in hash order. It differs between versions, so that the same clusters do
// not always go first. To make certain clusters go first, select them by label.
func Position(module, version string, uid types.UID) int64 {
	sum := sha256.Sum256([]byte(module + "\x00" + version + "\x00" + string(uid)))
	return int64(binary.BigEndian.Uint64(sum[:8]) >> 11) //nolint:gosec // 53 bits fit
}

// Stages returns the stages of a plan. The last one takes all remaining clusters.
func Stages(plan v1beta2.RolloutPlan) []v1beta2.RolloutStage {
	stages := plan.Stages
	if len(stages) > 0 && takesRest(stages[len(stages)-1]) {
		return stages
	}
	return append(append([]v1beta2.RolloutStage{}, stages...), v1beta2.RolloutStage{Name: Rest})
}

func takesRest(s v1beta2.RolloutStage) bool {
	return s.Selector == nil && s.Percent == nil && s.Count == nil
}

// PlaceOf returns the place of a cluster: the first stage that takes it. A stage by percent or count takes the clusters
// with positions below its bound that no earlier stage takes. The bound of a stage by count is computed when the
// rollout begins and recorded in its status. Before that, the stage takes no cluster.
func PlaceOf(r *v1beta2.ModuleRollout, c Cluster) Place {
	return PlaceFunc(r)(c)
}

// PlaceFunc returns PlaceOf for many clusters of one rollout.
func PlaceFunc(r *v1beta2.ModuleRollout) func(Cluster) Place {
	stages := Stages(r.Spec.Plan)
	selectors := make([]labels.Selector, len(stages))
	for i, stage := range stages {
		if stage.Selector == nil {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(stage.Selector)
		if err != nil {
			selector = labels.Nothing() // an invalid selector selects no cluster
		}
		selectors[i] = selector
	}
	bounds := boundsOf(r, stages)
	return func(c Cluster) Place {
		p := Place{Stage: len(stages) - 1, Position: Position(r.Spec.ModuleName, r.Spec.To, c.UID)}
		for i := range stages {
			if takes := selectors[i] != nil && selectors[i].Matches(labels.Set(c.Labels)) || p.Position < bounds[i]; takes {
				p.Stage = i
				break
			}
		}
		return p
	}
}

// boundsOf returns the bounds of stages by percent and count. A percentage is added to the bound of the previous stage.
func boundsOf(r *v1beta2.ModuleRollout, stages []v1beta2.RolloutStage) []int64 {
	bounds, last := make([]int64, len(stages)), int64(0)
	for i, stage := range stages {
		switch {
		case stage.Percent != nil:
			last = min(last+Everyone/100*int64(*stage.Percent), Everyone)
			if *stage.Percent == 100 {
				last = Everyone
			}
			bounds[i] = last
		case stage.Count != nil && i < len(r.Status.Stages):
			last = max(last, r.Status.Stages[i].Bound)
			bounds[i] = last
		}
	}
	return bounds
}

// FixBounds computes the bounds of stages by count from the clusters of a rollout that has not begun.
func FixBounds(r *v1beta2.ModuleRollout, clusters []Cluster) {
	stages := Stages(r.Spec.Plan)
	if r.Status.StartedAt != nil || !slices.ContainsFunc(stages, func(s v1beta2.RolloutStage) bool { return s.Count != nil }) {
		return
	}
	r.Status.Stages = make([]v1beta2.RolloutStageStatus, len(stages))
	for i, stage := range stages {
		if stage.Count == nil {
			continue
		}
		// Without a bound, the stage takes no cluster yet. All clusters that no earlier stage takes are in later
		// stages.
		place := PlaceFunc(r)
		var positions []int64
		for _, c := range clusters {
			if p := place(c); p.Stage > i {
				positions = append(positions, p.Position)
			}
		}
		slices.Sort(positions)
		r.Status.Stages[i].Bound = Everyone
		if n := int(*stage.Count); n < len(positions) {
			r.Status.Stages[i].Bound = positions[n]
		}
	}
}

// Released reports whether a rollout has released its version to a place.
func Released(r *v1beta2.ModuleRollout, p Place) bool {
	stage := int(r.Status.Stage)
	return p.Stage < stage || p.Stage == stage && p.Position < r.Status.Released
}
