// Package rollout decides, purely, which version of a module a cluster has while one is rolled out in stages, and what a
// rollout does next.
//
//	place.go    where a cluster is in a rollout: its stage, and its position in hash order
//	chain.go    the rollouts of a channel, and the version that they give a cluster
//	conditions.go  what that means for kstatus
//	plan.go     the settings of a stage, with what is not set filled in
//	upgrade.go  what a Manifest says of its last change of version
//	heldback.go what it says of a version that it does not get
//	observed.go what is seen of the clusters: counts per stage, failures by what failed
//	deferral.go for how long the owner of a cluster puts a version off
//	decide.go   what a rollout does next: release, wait, hold, take back, end
//	approvals.go whose approval is missing
//	promote.go  what becomes of its version then: wait, move to the next channel, or not
//	spacing.go  when it takes its next step
//	analysis.go what queries of Prometheus say of a stage, and when they are asked
//
// Nothing here reads or writes anything: package advance does.
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

// Everyone is the position after the last one in hash order. Positions have 53 bits, so that no JSON reader rounds them.
const Everyone int64 = 1 << 53

// Rest is the name of the stage that takes the clusters which no other does.
const Rest = "rest"

// Cluster is what decides about the place of a cluster in a rollout.
type Cluster struct {
	UID    types.UID
	Labels map[string]string
}

// ClusterOf is that of a Kyma.
func ClusterOf(kyma *v1beta2.Kyma) Cluster { return Cluster{UID: kyma.UID, Labels: kyma.Labels} }

// Place is where a cluster is in a rollout.
type Place struct {
	// Stage is the position of its stage in Stages.
	Stage int
	// Position is its own in hash order, from 0 to Everyone.
	Position int64
}

// Position is the position of a cluster in hash order. It differs from version to version, so that it is not always the
// same clusters that go first; who wants that selects them by labels.
func Position(module, version string, uid types.UID) int64 {
	sum := sha256.Sum256([]byte(module + "\x00" + version + "\x00" + string(uid)))
	return int64(binary.BigEndian.Uint64(sum[:8]) >> 11) //nolint:gosec // 53 bits fit
}

// Stages are those of a plan, with the last one for the rest.
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

// PlaceOf finds the place of a cluster: in the first stage that takes it. A stage by percent or count takes those whose
// position is below its bound, and that no stage before it takes. That of a stage by count is found when the rollout
// begins, and is recorded in its status; before, it takes none.
func PlaceOf(r *v1beta2.ModuleRollout, c Cluster) Place {
	return PlaceFunc(r)(c)
}

// PlaceFunc is PlaceOf for many clusters of one rollout.
func PlaceFunc(r *v1beta2.ModuleRollout) func(Cluster) Place {
	stages := Stages(r.Spec.Plan)
	selectors := make([]labels.Selector, len(stages))
	for i, stage := range stages {
		if stage.Selector == nil {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(stage.Selector)
		if err != nil {
			selector = labels.Nothing() // what cannot be read selects nobody
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

// boundsOf are up to where stages by percent and count reach. One by percent reaches so far beyond the one before it.
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

// FixBounds finds up to where the stages by count reach, of a rollout that has not begun, from the clusters that it concerns.
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
		// Without a bound, the stage takes none yet: what no stage before it takes is in it or after it.
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

// Released tells whether a rollout has released its version to a place.
func Released(r *v1beta2.ModuleRollout, p Place) bool {
	stage := int(r.Status.Stage)
	return p.Stage < stage || p.Stage == stage && p.Position < r.Status.Released
}
