package install

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/fleet"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// siblings are the other Manifests of the same Kyma for the same cluster, as the informer knows them: as of this one's
// own resource version at least, so that of two that were written one after the other, the later sees the earlier.
func (a *Activities) siblings(ctx context.Context, m *v1beta2.Manifest) ([]*v1beta2.Manifest, error) {
	kyma := metav1.GetControllerOf(m)
	if m.KymaName() == "" || kyma == nil {
		return nil, nil
	}
	all, err := a.options.Known.OfKyma(ctx, kymaRefOf(m), m.ResourceVersion)
	if err != nil {
		return nil, err
	}
	var others []*v1beta2.Manifest
	for i := range all {
		if other := &all[i]; other.UID != m.UID && desired.InControlPlane(other) == desired.InControlPlane(m) {
			others = append(others, other)
		}
	}
	return others, nil
}

// claimants are the siblings that have one of these objects, by inventory id, in their inventory, read live.
func (a *Activities) claimants(ctx context.Context, m *v1beta2.Manifest, ids map[string]bool) ([]*v1beta2.Manifest, error) {
	others, err := a.siblings(ctx, m)
	if err != nil {
		return nil, err
	}
	others = slices.DeleteFunc(others, func(other *v1beta2.Manifest) bool { return !fleet.Claims(other, ids) })
	return a.asTheyAre(ctx, others)
}

// asTheyAre reads Manifests live that the informer named. Those that are gone are left out.
func (a *Activities) asTheyAre(ctx context.Context, known []*v1beta2.Manifest) ([]*v1beta2.Manifest, error) {
	if a.options.Known.IsLive() {
		return known, nil
	}
	var all []*v1beta2.Manifest
	for _, m := range known {
		now, err := a.options.Known.Manifest(ctx, client.ObjectKeyFromObject(m))
		if err != nil {
			return nil, err
		}
		if now != nil && now.UID == m.UID {
			all = append(all, now)
		}
	}
	return all, nil
}

// yield takes out of the plan what another module of the same Kyma has: two that apply one object would undo
// each other's work for ever. It costs a request to the control plane for each module that has the same, and only
// while some of the plan was never applied before.
//
// It comes after the announcement. So of two that announce the same object at the same time at least one sees
// the other, and they decide alike: what is applied belongs to whoever applied it; else to the older Manifest,
// which waits until the younger one has seen that, and has either yielded or applied it already.
func (a *Activities) yield(ctx context.Context, job *installation) error {
	if !claimsNew(job) {
		return nil
	}
	planned := make(map[string]bool, len(job.plan.entries))
	for _, e := range job.plan.entries {
		planned[e.ID] = true
	}
	others, err := a.claimants(ctx, job.manifest, planned)
	if err != nil {
		return err
	}
	claims := claimsOf(others)
	if len(claims) == 0 {
		return nil
	}
	applied := appliedBefore(job.manifest.Status.Inventory)
	job.yielded = map[string]bool{}
	keep := func(p placed) bool {
		claim, contested := claims[p.entry.ID]
		if !contested || applied[p.entry.ID] || isShared(p.object.gvk.GroupKind()) {
			return true
		}
		f := failure{object: p.String(), message: "belongs to module " + claim.by.ModuleName()}
		switch {
		case !claim.by.DeletionTimestamp.IsZero():
			f.message, f.passing = f.message+", which is being removed", true
		case !claim.applied && precedes(job.manifest, claim.by):
			f.message, f.passing = "is claimed by module "+claim.by.ModuleName()+" as well", true
			job.refused = append(job.refused, f)
			return false
		}
		job.refused = append(job.refused, f)
		job.yielded[p.entry.ID] = true
		return false
	}
	for s := range job.plan.stages {
		job.plan.stages[s] = filter(job.plan.stages[s], keep)
	}
	job.plan.before, job.plan.after = filter(job.plan.before, keep), filter(job.plan.after, keep)
	return nil
}

// claimsNew tells whether some of the plan was never applied by this Manifest before.
func claimsNew(job *installation) bool {
	applied := appliedBefore(job.manifest.Status.Inventory)
	for _, e := range job.plan.entries {
		if gvk, _, err := e.Object(); err == nil && !applied[e.ID] && !isShared(gvk.GroupKind()) {
			return true
		}
	}
	return false
}

func appliedBefore(inventory []v1beta2.InventoryEntry) map[string]bool {
	applied := make(map[string]bool, len(inventory))
	for _, e := range inventory {
		applied[e.ID] = e.UID != ""
	}
	return applied
}

// claim is that a Manifest has an object in its inventory.
type claim struct {
	by *v1beta2.Manifest
	// applied is true when it is known to have applied it.
	applied bool
}

// claimsOf are the strongest claims on each object, by inventory id. What a module no longer has is free.
func claimsOf(manifests []*v1beta2.Manifest) map[string]claim {
	claims := map[string]claim{}
	for _, m := range manifests {
		for _, e := range m.Status.Inventory {
			if e.Leaving && m.DeletionTimestamp.IsZero() {
				continue
			}
			next := claim{by: m, applied: e.UID != ""}
			now, there := claims[e.ID]
			if !there || next.applied && !now.applied || next.applied == now.applied && precedes(m, now.by) {
				claims[e.ID] = next
			}
		}
	}
	return claims
}

// precedes tells which of two Manifests that were both announced gets what nobody has applied yet.
func precedes(a, b *v1beta2.Manifest) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Name < b.Name
}

// isShared tells of which kind several modules may have the same object: the one that made it keeps the mark.
func isShared(kind schema.GroupKind) bool { return kind == schema.GroupKind{Kind: kindNamespace} }

// lives tells whether one of these Manifests has something in a namespace, or the namespace itself.
func lives(manifests []*v1beta2.Manifest, namespace string) bool {
	for _, m := range manifests {
		for _, e := range m.Status.Inventory {
			gvk, name, err := e.Object()
			if err == nil && (name.Namespace == namespace || isShared(gvk.GroupKind()) && name.Name == namespace) {
				return true
			}
		}
		if cr := m.Status.DefaultCR; cr != nil && cr.Namespace == namespace {
			return true
		}
	}
	return false
}

func filter(all []placed, keep func(placed) bool) []placed {
	var kept []placed
	for _, p := range all {
		if keep(p) {
			kept = append(kept, p)
		}
	}
	return kept
}
