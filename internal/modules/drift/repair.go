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

// Repair holds what is known about a module's objects before they are applied again, and which of them were
// corrected. The zero value is for a first installation: nothing is known, so everything is applied.
type Repair struct {
	// Only is true if there is only drift to correct, because the inputs are already installed.
	Only bool
	// Surveyed is true if the objects have been read.
	Surveyed bool
	// Before holds the objects as they were before anything was applied.
	Before objects.Survey
	// Recorded is the inventory, by id.
	Recorded map[string]v1beta2.InventoryEntry
	// Scaled holds the workloads, by id, with a number of replicas that others set through the scale subresource.
	Scaled map[string]Scaling

	mu          sync.Mutex
	corrections []correction
	// Unsettled is true if an object was applied that has to become healthy, so the module has to wait for it.
	Unsettled bool
}

// Scaling decides about a number of replicas that others set through the scale subresource.
type Scaling struct {
	// Autoscaled is true if an autoscaler targets the workload. The autoscaler then sets the number.
	Autoscaled bool
	// Rendered is true if the module sets a number.
	Rendered bool
}

// restores reports whether the module's number has to be applied to a workload with replicas that we do not own.
func (s Scaling) restores(seen objects.LiveObject) bool {
	return s.Rendered && !s.Autoscaled && !inventory.OwnFields(seen.Meta.ManagedFields).Has(inventory.Replicas())
}

// correction is a drifted object that was corrected.
type correction struct {
	at bundle.Placed
	// how describes the drift in words.
	how string
	// taken becomes a conflict if it happens repeatedly. known is true if taken is set.
	taken Loss
	known bool
}

// IsCurrent reports whether an object need not be applied: it is the object that was applied, we still own all fields
// that we applied, and its rendering is unchanged. An existing object in conflict counts as current until it may be
// corrected again.
func (r *Repair) IsCurrent(p bundle.Placed, corrections []v1beta2.Correction, now metav1.Time) (v1beta2.InventoryEntry, bool) {
	recorded, known := r.Recorded[p.Entry.ID]
	if !r.Surveyed || !known || recorded.UID == "" || inventory.RunsOnce(recorded) || kinds.IsJob(p.Object.GVK.GroupKind()) {
		return v1beta2.InventoryEntry{}, false
	}
	// Only the API version in the entry changes, to the version in the present rendering.
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

// Adopted returns the live object if it is recorded but we have never applied it, because upstream installed it.
// Otherwise it returns nil.
func (r *Repair) Adopted(p bundle.Placed) *metav1.PartialObjectMetadata {
	recorded, seen := r.Recorded[p.Entry.ID], r.Before.Seen[p.Entry.ID]
	if recorded.UID == "" || recorded.Hash != "" || seen.Meta == nil || string(seen.Meta.UID) != recorded.UID {
		return nil
	}
	return seen.Meta
}

// BodyFor returns the object to apply, without the replicas if an autoscaler sets them.
func (r *Repair) BodyFor(p bundle.Placed, body []byte) ([]byte, error) {
	if r.Scaled[p.Entry.ID].Autoscaled {
		return bundle.WithoutReplicas(body)
	}
	return body, nil
}

// Note records the result of applying an object. It counts as corrected only if we had applied it before and it had
// drifted. An object that the apply did not change was not corrected.
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

// losses returns the corrections, by id, that become a conflict if they happen repeatedly.
func (r *Repair) losses() map[string]Loss {
	all := map[string]Loss{}
	for _, c := range r.corrections {
		if c.known {
			all[c.at.Entry.ID] = c.taken
		}
	}
	return all
}

// NextCorrections returns the corrections to record after this reconcile.
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

// differed reports whether an object differed from what was applied, or could not be read.
func (r *Repair) differed(id string) bool {
	recorded, seen := r.Recorded[id], r.Before.Seen[id]
	return seen.Meta == nil || string(seen.Meta.UID) != recorded.UID || inventory.ObjectHash(seen.Meta) != recorded.Hash
}

// Remember records the corrections in a status.
func (r *Repair) Remember(s *v1beta2.ManifestStatus, now metav1.Time) {
	s.Corrections = r.NextCorrections(s.Corrections, now)
}

// String returns the names of the first corrected objects.
func (r *Repair) String() string {
	all := lists.Map(r.corrections, func(c correction) string { return c.at.String() + " (" + c.how + ")" })
	return objects.FirstOf(all)
}
