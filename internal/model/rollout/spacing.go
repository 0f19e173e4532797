package rollout

import (
	"time"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

const (
	// MinSpacing is the minimum time between two steps of a rollout because of changes in clusters.
	MinSpacing = time.Second
	// spacingShare bounds how long a step may be delayed: a sixth of the age. Batching keeps a rollout of 10,000
	// clusters to a few hundred steps.
	spacingShare = 6
	// maxProgressSpacing is the maximum time between two steps while clusters get the version, maxSpacing at other
	// times.
	maxProgressSpacing, maxSpacing = 5 * time.Minute, time.Minute
	// recheck is when a rollout counts clusters again at the latest. The kick for the last cluster may come before the
	// informers of the process that takes the step know the change.
	recheck = time.Minute
)

// Spacing returns how long a rollout collects changes of clusters before it takes a step. SettledEnough may end the
// wait earlier.
func Spacing(r *v1beta2.ModuleRollout, now time.Time) time.Duration {
	stage := int(r.Status.Stage)
	if stage >= len(r.Status.Stages) || r.Status.Stages[stage].FirstReleasedAt == nil {
		return MinSpacing
	}
	since, most := r.Status.Stages[stage].FirstReleasedAt, maxSpacing
	if r.Status.Phase == v1beta2.RolloutProgressing {
		most = maxProgressSpacing
		for _, st := range r.Status.Stages {
			if st.FirstReleasedAt != nil && st.FirstReleasedAt.Before(since) {
				since = st.FirstReleasedAt
			}
		}
	}
	return min(max(now.Sub(since.Time)/spacingShare, MinSpacing), most)
}

// SettledEnough reports whether nine tenths of the clusters that were updating at the last step have settled. Then the
// rollout has room for as many again, and a longer wait would leave the control plane idle.
func SettledEnough(r *v1beta2.ModuleRollout, settled int32) bool {
	stage := int(r.Status.Stage)
	if r.Status.Phase != v1beta2.RolloutProgressing || stage >= len(r.Status.Stages) {
		return false
	}
	updating := r.Status.Stages[stage].Updating
	return updating > 0 && settled >= updating-updating/10
}

// Recheck returns when a rollout counts clusters again if no kick comes: after a minute, or after twice the spacing
// while at least half of the allowed number of clusters are updating. With so many, other clusters will settle and kick
// the rollout.
func Recheck(r *v1beta2.ModuleRollout, now time.Time) time.Duration {
	stage := int(r.Status.Stage)
	if r.Status.Phase != v1beta2.RolloutProgressing || stage >= len(r.Status.Stages) {
		return recheck
	}
	st := r.Status.Stages[stage]
	if st.Updating < planOf(r.Spec, stage, st.Total).concurrency/2 {
		return recheck
	}
	return max(recheck, 2*Spacing(r, now))
}
