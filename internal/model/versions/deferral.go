package versions

import (
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
)

// deferralOf returns for how long the Kyma's owner defers a version that a rollout gives it. If the Kyma has a remote
// Kyma, the annotation of the remote Kyma decides.
func deferralOf(kyma *v1beta2.Kyma, module, installed string, inForce []*v1beta2.ModuleRollout) rollout.Deferral {
	asked := kyma.Annotations[shared.AnnotationDeferUpgradesUntil]
	if desired.IsAccepted(kyma) {
		asked = kyma.Status.Remote.DeferUpgradesUntil
	}
	if asked == "" || len(inForce) == 0 {
		return rollout.Deferral{}
	}
	deferrals, err := rollout.ParseDeferrals(asked)
	if err != nil {
		return rollout.Deferral{} // its author has been told already
	}
	return rollout.DeferralOf(inForce, rollout.ClusterOf(kyma), installed, deferrals.Of(module))
}
