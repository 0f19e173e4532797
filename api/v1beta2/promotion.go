package v1beta2

import "slices"

// NextChannel returns the channel that the rollout's version is promoted to, or "" if there is none. A rollout that
// changes no version, for example the first one of a policy, proves nothing about the version, so it is not promoted.
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

// IsBeingPromoted reports whether the rollout has completed and its version may still move to the next channel.
func (r *ModuleRollout) IsBeingPromoted() bool {
	hasStopped := r.Status.Promotion != nil && r.Status.Promotion.Ended != ""
	return r.Status.Phase == RolloutCompleted && r.NextChannel() != "" && !hasStopped
}

// IsAtWork reports whether the rollout still needs work: it has not ended, or its version is being promoted.
func (r *ModuleRollout) IsAtWork() bool { return !r.HasEnded() || r.IsBeingPromoted() }
