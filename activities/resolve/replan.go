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

// replans is how often a plan is made again because a Manifest differs from the informer's version.
const replans = 3

// view makes a plan for the Kyma and its Manifests from the informer. It then reads live the Manifests that the plan acts
// on (View.actedOn), and plans again if one of them differs. The returned plan is therefore based on the current
// Manifests.
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

// Plan returns the names of the Manifests that a Kyma has or should have, and the planned state of each. It reads from
// informers only.
func (a *Activities) Plan(ctx context.Context, kyma *v1beta2.Kyma) ([]string, []v1beta2.PlannedManifest, error) {
	all, err := a.Known.Manifests(ctx, kyma, nil)
	if err != nil {
		return nil, nil, err
	}
	view, err := a.planner.View(ctx, kyma, all.Own, all.Foreign, nil)
	return view.Names(kyma), view.Planned(kyma), err
}

// confirm reads Manifests live, each once, and reports whether one of them differs from the known version. Informers omit
// the status field that identifies upstream's Manifests. This is why an unknown Manifest is also read live.
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

// recordPlan writes into the Kyma's status the names of the Manifests that will be created and the planned state of each,
// unless the status already says so. The record saves readers of the Kyma a list request, and every installer compares a
// Manifest with the record before it installs the Manifest (package planned).
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
