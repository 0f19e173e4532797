package install

import (
	"context"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/apply"
	"github.com/kyma-project/lifecycle-manager/internal/modules/bundle"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// yield withholds planned objects that another module of the same Kyma has, because two modules that apply the same
// object would undo each other's changes forever. It costs a request to the control plane for each module with the same
// object, and only while the plan contains objects that were never applied.
//
// yield runs after the intent was recorded. If two modules record the same object at the same time, at least one of them
// sees the other, and both decide by the same rule: an object belongs to the module that has applied it, otherwise to the
// older Manifest. The older Manifest waits until the younger one has yielded, or has already applied the object.
func (a *Activities) yield(ctx context.Context, job *apply.Installation) error {
	if !takesNew(job) {
		return nil
	}
	planned := lists.Set(job.Plan.Entries, func(e v1beta2.InventoryEntry) string { return e.ID })
	others, err := a.steps.OtherModulesWith(ctx, job.Manifest, planned)
	if err != nil {
		return err
	}
	d := divide(job.Manifest, job.Plan.All(), others)
	job.Plan.Withhold(d.withheld)
	job.Refused, job.Yielded = append(job.Refused, d.refused...), d.yielded
	return nil
}

// division says which objects of a plan are withheld because other modules of the same Kyma have them. The keys are
// inventory ids.
type division struct {
	withheld map[string]bool
	// refused gives the reason for each withheld object.
	refused []bundle.Failure
	// yielded are the withheld objects that leave our inventory. The other withheld objects are tried again.
	yielded map[string]bool
}

// divide decides which of the planned objects are left to the Manifests of other modules.
func divide(m *v1beta2.Manifest, planned []bundle.Placed, others []*v1beta2.Manifest) division {
	d := division{withheld: map[string]bool{}, yielded: map[string]bool{}}
	owners, applied := ownershipOf(others), inventory.AppliedBefore(m.Status.Inventory)
	for _, p := range planned {
		owner, contested := owners[p.Entry.ID]
		if !contested || applied[p.Entry.ID] || kinds.IsShared(p.Object.GVK.GroupKind()) {
			continue
		}
		d.withheld[p.Entry.ID] = true
		f := bundle.Failure{Object: p.String(), Message: "belongs to module " + owner.by.ModuleName()}
		switch {
		case !owner.by.DeletionTimestamp.IsZero():
			f.Message, f.Retryable = f.Message+", which is being removed", true
			d.yielded[p.Entry.ID] = true
		case !owner.applied && precedes(m, owner.by):
			f.Message, f.Retryable = "is also in module "+owner.by.ModuleName(), true
		default:
			d.yielded[p.Entry.ID] = true
		}
		d.refused = append(d.refused, f)
	}
	return d
}

// takesNew reports whether the plan contains objects that this Manifest has never applied.
func takesNew(job *apply.Installation) bool {
	applied := inventory.AppliedBefore(job.Manifest.Status.Inventory)
	for _, e := range job.Plan.Entries {
		if gvk, _, err := e.Object(); err == nil && !applied[e.ID] && !kinds.IsShared(gvk.GroupKind()) {
			return true
		}
	}
	return false
}

// ownership records that a Manifest has an object in its inventory.
type ownership struct {
	by *v1beta2.Manifest
	// applied is true if the Manifest is known to have applied the object.
	applied bool
}

// ownershipOf returns the owner of each object by inventory id. Objects that a module is giving up have no owner.
func ownershipOf(manifests []*v1beta2.Manifest) map[string]ownership {
	owners := map[string]ownership{}
	for _, m := range manifests {
		for _, e := range m.Status.Inventory {
			if e.Leaving && m.DeletionTimestamp.IsZero() {
				continue
			}
			next := ownership{by: m, applied: e.UID != ""}
			now, there := owners[e.ID]
			if !there || next.applied && !now.applied || next.applied == now.applied && precedes(m, now.by) {
				owners[e.ID] = next
			}
		}
	}
	return owners
}

// precedes reports whether Manifest a comes before b for an object that both have recorded and neither has applied.
func precedes(a, b *v1beta2.Manifest) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Name < b.Name
}
