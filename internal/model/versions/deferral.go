package versions

import (
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
)

// deferralOf is for how long the owner of a Kyma puts off what rollouts give it instead of the installed version. Of a Kyma
// with a remote one, that one's owner decides.
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
		return rollout.Deferral{} // whoever wrote it was told
	}
	return rollout.DeferralOf(inForce, rollout.ClusterOf(kyma), installed, deferrals.Of(module))
}
