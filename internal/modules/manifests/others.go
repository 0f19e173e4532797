package manifests

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// OtherModules returns the other Manifests of the same Kyma for the same cluster, from the informer. The informer is
// at least as new as m's resource version. So if two Manifests were written one after the other, the later one sees
// the earlier one.
func (a *Steps) OtherModules(ctx context.Context, m *v1beta2.Manifest) ([]*v1beta2.Manifest, error) {
	kyma := metav1.GetControllerOf(m)
	if m.KymaName() == "" || kyma == nil {
		return nil, nil
	}
	all, err := a.Options.Known.OfKyma(ctx, KymaRefOf(m), []desired.Seen{fleet.SeenOf(m)})
	if err != nil {
		return nil, err
	}
	return lists.Filter(lists.Pointers(all), func(other *v1beta2.Manifest) bool {
		return other.UID != m.UID && desired.InControlPlane(other) == desired.InControlPlane(m)
	}), nil
}

// OtherModulesWith returns the other modules of the Kyma, read live, that have one of these objects (by inventory id)
// in their inventory.
func (a *Steps) OtherModulesWith(ctx context.Context, m *v1beta2.Manifest, ids map[string]bool) ([]*v1beta2.Manifest, error) {
	others, err := a.OtherModules(ctx, m)
	if err != nil {
		return nil, err
	}
	others = slices.DeleteFunc(others, func(other *v1beta2.Manifest) bool { return !fleet.Claims(other, ids) })
	return a.ReadLive(ctx, others)
}

// ReadLive reads Manifests from the informer again, live. It leaves out those that no longer exist.
func (a *Steps) ReadLive(ctx context.Context, known []*v1beta2.Manifest) ([]*v1beta2.Manifest, error) {
	if a.Options.Known.IsLive() {
		return known, nil
	}
	var all []*v1beta2.Manifest
	for _, m := range known {
		now, err := a.Options.Known.Manifest(ctx, client.ObjectKeyFromObject(m))
		if err != nil {
			return nil, err
		}
		if now != nil && now.UID == m.UID {
			all = append(all, now)
		}
	}
	return all, nil
}
