package v1beta2

import "slices"

// NextChannel is the channel that a rollout's version is promoted to; empty where it is promoted to none. One that changed no
// version, such as the first of a policy, says nothing about it and promotes nothing.
func (r *ModuleRollout) NextChannel() string {
	promotion := r.Spec.Plan.Promotion
	if promotion == nil || r.Spec.Channel == "" || r.Spec.From == r.Spec.To {
		return ""
	}
	at := slices.Index(promotion.Channels, r.Spec.Channel)
	if at < 0 || at+1 >= len(promotion.Channels) {
		return ""
	}
	return promotion.Channels[at+1]
}

// IsBeingPromoted tells whether a rollout has completed, and its version may still move to the next channel.
func (r *ModuleRollout) IsBeingPromoted() bool {
	hasStopped := r.Status.Promotion != nil && r.Status.Promotion.Ended != ""
	return r.Status.Phase == RolloutCompleted && r.NextChannel() != "" && !hasStopped
}

// IsAtWork tells whether anything is still to be done for a rollout: it has not ended, or is being promoted.
func (r *ModuleRollout) IsAtWork() bool { return !r.HasEnded() || r.IsBeingPromoted() }
