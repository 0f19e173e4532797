package drift

import (
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/bundle"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// Repair is what is known of a module's objects before they are applied once more, and which of them were corrected. The
// zero value is that of a first installation: nothing is known, everything is applied.
type Repair struct {
	// Only is true when there is only drift to correct: the inputs are those that are installed.
	Only bool
	// Surveyed is true when the objects were read.
	Surveyed bool
	// Before is what was read, before anything was applied.
	Before objects.Survey
	// Recorded is the inventory, by id.
	Recorded map[string]v1beta2.InventoryEntry
	// Scaled are the workloads whose number of replicas somebody set through their scale subresource, by id.
	Scaled map[string]Scaling

	mu          sync.Mutex
	corrections []correction
	// Unsettled is true when something was applied whose health matters, so that it must be waited for.
	Unsettled bool
}

// Scaling is what is to become of the number of replicas that somebody set through the scale subresource.
type Scaling struct {
	// Autoscaled is true if an autoscaler targets the workload: the number is its own.
	Autoscaled bool
	// Rendered is true if the module names a number.
	Rendered bool
}

// restores reports whether the module's number is to be applied to a workload of which we do not own it.
func (s Scaling) restores(seen objects.LiveObject) bool {
	return s.Rendered && !s.Autoscaled && !inventory.OwnFields(seen.Meta.ManagedFields).Has(inventory.Replicas())
}

// correction is an object that had drifted, and was corrected.
type correction struct {
	at bundle.Placed
	// how says in words what was wrong with it.
	how string
	// taken is what counts as a conflict if it happens again; known is true where there is such a thing.
	taken Loss
	known bool
}

// IsCurrent tells whether an object need not be applied: it is the one that was applied, we still own all that we
// applied, and its rendering is the same. An object in conflict that is not to be corrected yet is current as long as it
// exists.
func (r *Repair) IsCurrent(p bundle.Placed, corrections []v1beta2.Correction, now metav1.Time) (v1beta2.InventoryEntry, bool) {
	recorded, known := r.Recorded[p.Entry.ID]
	if !r.Surveyed || !known || recorded.UID == "" || inventory.RunsOnce(recorded) || kinds.IsJob(p.Object.GVK.GroupKind()) {
		return v1beta2.InventoryEntry{}, false
	}
	// The entry stays the same, but for the version of the API, which is the one of the present rendering.
	recorded.Version, recorded.Leaving = p.Entry.Version, false
	seen, there := r.Before.Seen[p.Entry.ID]
	gone := !there || string(seen.Meta.UID) != recorded.UID
	known = r.Before.Failed[p.Object.GVK.GroupKind()] == nil
	if _, waits := readiness.Waiting(corrections, p.Entry.ID, gone && known, now.Time); waits && r.Only {
		return recorded, true
	}
	if gone || seen.Meta.Annotations[shared.AnnotationAppliedDigest] != p.Object.Digest || r.Scaled[p.Entry.ID].restores(seen) {
		return v1beta2.InventoryEntry{}, false
	}
	return recorded, recorded.Hash != "" && inventory.ObjectHash(seen.Meta) == recorded.Hash
}

// Adopted returns an object as it was read that is recorded, but was never applied by us: upstream installed it. It is
// nil for any other.
func (r *Repair) Adopted(p bundle.Placed) *metav1.PartialObjectMetadata {
	recorded, seen := r.Recorded[p.Entry.ID], r.Before.Seen[p.Entry.ID]
	if recorded.UID == "" || recorded.Hash != "" || seen.Meta == nil || string(seen.Meta.UID) != recorded.UID {
		return nil
	}
	return seen.Meta
}

// BodyFor is the object as it is to be applied: without the replicas that an autoscaler sets.
func (r *Repair) BodyFor(p bundle.Placed, body []byte) ([]byte, error) {
	if r.Scaled[p.Entry.ID].Autoscaled {
		return bundle.WithoutReplicas(body)
	}
	return body, nil
}

// Note records the result of applying an object. It was corrected only if it had been applied before, by us, and had
// drifted; if it is the same afterwards, it was not.
func (r *Repair) Note(p bundle.Placed, after *metav1.PartialObjectMetadata) {
	recorded, known := r.Recorded[p.Entry.ID]
	if !r.Surveyed || !known || recorded.UID == "" || recorded.Hash == "" || r.Before.Failed[p.Object.GVK.GroupKind()] != nil {
		return
	}
	seen, there := r.Before.Seen[p.Entry.ID]
	c := correction{at: p}
	switch {
	case !there && recorded.UID == string(after.UID):
		c.how, c.known, c.taken.field = "had lost our labels", r.Only, readiness.FieldLabels
	case !there:
		c.how, c.known = "had been deleted", r.Only
	case recorded.UID != string(seen.Meta.UID):
		c.how, c.known = "had been replaced", r.Only
	case inventory.ObjectHash(seen.Meta) == inventory.ObjectHash(after), inventory.ObjectHash(seen.Meta) == recorded.Hash:
		return
	default:
		c.how = "had been changed"
		if r.Only {
			c.taken, c.known = lossOf(seen.Meta.ManagedFields, after.ManagedFields)
		}
		if c.known {
			c.how = fmt.Sprintf("%s by %s", c.taken.field, readiness.ManagerName(c.taken.manager))
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.corrections = append(r.corrections, c)
	r.Unsettled = r.Unsettled || kinds.HealthMatters(p.Object.GVK.GroupKind())
}

// losses are the corrections that are a conflict if they happen again and again, by id.
func (r *Repair) losses() map[string]Loss {
	all := map[string]Loss{}
	for _, c := range r.corrections {
		if c.known {
			all[c.at.Entry.ID] = c.taken
		}
	}
	return all
}

// NextCorrections returns the corrections to be recorded after this reconcile.
func (r *Repair) NextCorrections(old []v1beta2.Correction, now metav1.Time) []v1beta2.Correction {
	if !r.Surveyed {
		return old
	}
	held := map[string]string{}
	for id, e := range r.Recorded {
		if seen, there := r.Before.Seen[id]; there && !e.Leaving && isHeld(seen.Meta) {
			held[id] = seen.Meta.Finalizers[0]
		}
	}
	return NextCorrections(old, Round{Made: r.losses(), Differs: r.differed, Held: held, New: !r.Only}, now)
}

// differed reports whether an object was not as it was applied, or could not be read.
func (r *Repair) differed(id string) bool {
	recorded, seen := r.Recorded[id], r.Before.Seen[id]
	return seen.Meta == nil || string(seen.Meta.UID) != recorded.UID || inventory.ObjectHash(seen.Meta) != recorded.Hash
}

// Remember records the corrections in a status.
func (r *Repair) Remember(s *v1beta2.ManifestStatus, now metav1.Time) {
	s.Corrections = r.NextCorrections(s.Corrections, now)
}

// String names the first of the corrected objects.
func (r *Repair) String() string {
	all := lists.Map(r.corrections, func(c correction) string { return c.at.String() + " (" + c.how + ")" })
	return objects.FirstOf(all)
}
