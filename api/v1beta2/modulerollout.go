package v1beta2

// HasEnded reports whether the rollout has ended. It then neither releases the
// version nor takes it back.
func (r *ModuleRollout) HasEnded() bool {
	switch r.Status.Phase {
	case RolloutReverted, RolloutAborted, RolloutSuperseded, RolloutCompleted:
		return true
	case RolloutPending, RolloutProgressing, RolloutSoaking, RolloutAwaitingApproval, RolloutPaused, RolloutHeld, RolloutReverting:
	}
	return false
}

// IsByHand reports whether a person created the rollout, without a policy.
func (r *ModuleRollout) IsByHand() bool { return r.Spec.Policy == "" }
