package v1beta2

// HasEnded tells whether a rollout releases and takes back nothing any more.
func (r *ModuleRollout) HasEnded() bool {
	switch r.Status.Phase {
	case RolloutReverted, RolloutAborted, RolloutSuperseded, RolloutCompleted:
		return true
	case RolloutPending, RolloutProgressing, RolloutSoaking, RolloutAwaitingApproval, RolloutPaused, RolloutHeld, RolloutReverting:
	}
	return false
}

// IsByHand tells whether a rollout was made without a policy.
func (r *ModuleRollout) IsByHand() bool { return r.Spec.Policy == "" }
