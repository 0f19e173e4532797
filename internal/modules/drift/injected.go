package drift

import (
	"context"
	"slices"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/bundle"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// isStale reports whether a Secret of a module has older data than the control plane's Secret with the same name. It
// compares versions and reads neither Secret.
func (a *Prober) isStale(ctx context.Context, cached *v1beta2.Manifest, marked []objects.LiveObject) (bool, error) {
	var stale []string
	for _, s := range marked {
		has, asks := bundle.InjectedVersion(s.GVK.GroupKind(), s.Meta.GetAnnotations())
		if !asks {
			continue
		}
		wanted := ""
		if cached.Annotations[shared.AnnotationInjects] == shared.ValueTrue {
			var err error
			if wanted, err = a.steps.Options.Injection.Version(ctx, s.Meta.GetName(), cached.ModuleName()); err != nil {
				return false, err
			}
		}
		if has != wanted {
			stale = append(stale, s.ID)
		}
	}
	if len(stale) == 0 {
		return false, nil
	}
	// A copy of the module's Secret has its marks too. Only the inventory distinguishes them, and a cache may leave the
	// inventory out.
	m, err := a.steps.Read(ctx, kick.RefOf(cached))
	if err != nil || !manifests.StillComparable(m, cached) {
		return false, err
	}
	return slices.ContainsFunc(m.Status.Inventory, func(e v1beta2.InventoryEntry) bool {
		return e.Hash != "" && !e.Leaving && slices.Contains(stale, e.ID)
	}), nil
}
