package drift

import (
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/activities/bundle"
	"github.com/kyma-project/lifecycle-manager/activities/inventory"
	"github.com/kyma-project/lifecycle-manager/activities/kinds"
	"github.com/kyma-project/lifecycle-manager/activities/objects"
	"github.com/kyma-project/lifecycle-manager/activities/readiness"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
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

	mu          sync.Mutex
	corrections []correction
	// Unsettled is true when something was applied whose health matters, so that it must be waited for.
	Unsettled bool
}

// correction is an object that had drifted, and was corrected.
type correction struct {
	at bundle.Placed
	// how says in words what was wrong with it.
	how string
	// taken is the field whose ownership we lost; known is true where there is one.
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
	if r.Before.Failed[p.Object.GVK.GroupKind()] == nil && (!there || string(seen.Meta.UID) != recorded.UID) {
		return v1beta2.InventoryEntry{}, false
	}
	if r.Only && waitsForRest(corrections, p.Entry.ID, now.Time) {
		return recorded, true
	}
	if !there || string(seen.Meta.UID) != recorded.UID || seen.Meta.Annotations[shared.AnnotationAppliedDigest] != p.Object.Digest {
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

// BodyFor is the object as it is to be applied: without the replicas that somebody else sets through a subresource.
func (r *Repair) BodyFor(p bundle.Placed, body []byte) ([]byte, error) {
	if seen, there := r.Before.Seen[p.Entry.ID]; there && ScaledByOthers(seen.Meta) {
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
		c.how = "had lost our labels"
	case !there:
		c.how = "had been deleted"
	case recorded.UID != string(seen.Meta.UID):
		c.how = "had been replaced"
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

// Losses are the corrections that count as a field ownership conflict, by id. A deleted object does not: it is created
// again each time, since the module does not work without it, and no manager is known.
func (r *Repair) Losses() map[string]Loss {
	all := map[string]Loss{}
	for _, c := range r.corrections {
		if c.known {
			all[c.at.Entry.ID] = c.taken
		}
	}
	return all
}

// Remember records the corrections in a status.
func (r *Repair) Remember(s *v1beta2.ManifestStatus, now metav1.Time) {
	if r.Surveyed {
		s.Corrections = NextCorrections(s.Corrections, r.Losses(), now)
	}
}

// String names the first of the corrected objects.
func (r *Repair) String() string {
	all := make([]string, 0, len(r.corrections))
	for _, c := range r.corrections {
		all = append(all, c.at.String()+" ("+c.how+")")
	}
	return objects.FirstOf(all)
}
