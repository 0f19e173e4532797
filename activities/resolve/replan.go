package resolve

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// replans is how often a plan is created again because a Manifest turned out to be another than the informer said.
const replans = 3

// view plans for the Kyma and its Manifests as the informer knows them, and reads those live that something is to be
// done about: what is planned holds for them as they are now.
func (a *Activities) view(ctx context.Context, kyma *v1beta2.Kyma, in Input) (View, error) {
	seen := in.Seen
	all, err := a.Known.Manifests(ctx, kyma, seen)
	if err != nil {
		return View{}, err
	}
	confirmed := map[string]bool{}
	for range replans {
		view, err := a.planner.View(ctx, kyma, all.Own, all.Foreign, seen)
		if err != nil {
			return View{}, fmt.Errorf("plan the modules of Kyma %s: %w", in.Ref, err)
		}
		view.absent = all.Absent
		changed, err := a.confirm(ctx, &all, view.actedOn(in.live), view.Unknown, confirmed)
		if err != nil || !changed {
			return view, err
		}
	}
	return View{}, fault.New(fault.Transient, "Changed", "the Manifests of Kyma %s keep changing during the reconcile", desired.NameOf(kyma))
}

// Plan returns the names of the Manifests that a Kyma has and is to have, and how each is to be, as far as the informers say.
func (a *Activities) Plan(ctx context.Context, kyma *v1beta2.Kyma) ([]string, []v1beta2.PlannedManifest, error) {
	all, err := a.Known.Manifests(ctx, kyma, nil)
	if err != nil {
		return nil, nil, err
	}
	view, err := a.planner.View(ctx, kyma, all.Own, all.Foreign, nil)
	return view.Names(kyma), view.Planned(kyma), err
}

// confirm reads Manifests live, each once, and reports whether one of them is not as it was known. The informer leaves out
// by what upstream's Manifests are known: such a one is only seen by the live read of those that are unknown.
func (a *Activities) confirm(ctx context.Context, all *fleet.Manifests, actedOn, unknown []*v1beta2.Manifest, confirmed map[string]bool) (bool, error) {
	if a.Known.IsLive() {
		return false, nil
	}
	changed := false
	for _, m := range actedOn {
		if confirmed[m.Name] {
			continue
		}
		confirmed[m.Name] = true
		now, err := a.Known.Manifest(ctx, client.ObjectKeyFromObject(m))
		if err != nil {
			return false, err
		}
		if now != nil && now.ResourceVersion == m.ResourceVersion && (len(now.Status.Synced) == 0 || !slices.Contains(unknown, m)) {
			continue
		}
		changed = true
		all.Replace(m.Name, now)
	}
	return changed, nil
}

// recordPlan writes into the Kyma's status, where it does not say so, the names of the Manifests that are about to be made
// and how each is to be. Whoever has to know of all that a Kyma has need not ask for what there is, and whoever installs a
// Manifest compares it with the record (package planned).
func (a *Activities) recordPlan(ctx context.Context, kyma *v1beta2.Kyma, view View) error {
	names, entries := view.Names(kyma), view.Planned(kyma)
	if slices.Equal(entries, kyma.Status.Planned) &&
		!slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(kyma.Status.Manifests, name) }) {
		return nil
	}
	before := kyma.DeepCopy()
	kyma.Status.Manifests, kyma.Status.Planned = names, entries
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := a.ControlPlane.Status().Patch(ctx, kyma, patch, client.FieldOwner(shared.FieldManagerLifecycleManager)); err != nil {
		return fmt.Errorf("record the Manifests of Kyma %s: %w", desired.NameOf(kyma), err)
	}
	return nil
}
