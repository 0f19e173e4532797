package advance

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// Concerned returns from informers the Kymas that a rollout concerns: those that take the module from the channel, or all
// Kymas if the module is mandatory. It leaves out Kymas that pin a version, do not manage the module, or are being
// deleted. The Kymas are shared and must not be changed.
func Concerned(ctx context.Context, informers client.Reader, settings desired.Settings, r *v1beta2.ModuleRollout) ([]*v1beta2.Kyma, error) {
	key := r.Spec.ModuleName
	if r.Spec.Channel == "" {
		key = desired.MandatoryKey
	}
	var list v1beta2.KymaList
	if err := informers.List(ctx, &list, client.MatchingFields{desired.IndexKymaReferences: key}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("find the Kymas that ModuleRollout %s/%s concerns: %w", r.Namespace, r.Name, err)
	}
	return lists.Filter(lists.Pointers(list.Items), func(kyma *v1beta2.Kyma) bool { return concerns(settings, r, kyma) }), nil
}

func concerns(settings desired.Settings, r *v1beta2.ModuleRollout, kyma *v1beta2.Kyma) bool {
	if !settings.Ours(kyma.Labels) || desired.IsSyncedCopy(kyma) || !kyma.DeletionTimestamp.IsZero() {
		return false
	}
	if r.Spec.Channel == "" {
		return true
	}
	wanted := desired.WantedBy(kyma, desired.SyncOf(kyma, settings))
	module, listed := wanted.Module(r.Spec.ModuleName)
	return listed && wanted.Complete && module.IsManaged() && module.Version == "" && module.EffectiveChannel(wanted.Channel) == r.Spec.Channel
}
