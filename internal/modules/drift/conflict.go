package drift

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
)

// Loss is a field whose ownership we lost, and to whom; or an object that was gone.
type Loss struct {
	// manager is the field manager that has it; empty when nobody has, since the field was removed.
	manager string
	// field is the first of the fields; a constant of readiness where the object was gone.
	field string
}

func (l Loss) isGone() bool { return readiness.IsGone(v1beta2.Correction{Field: l.field}) }

// lossOf says which fields of an object we own after it was applied and did not own before.
func lossOf(before, after []metav1.ManagedFieldsEntry) (Loss, bool) {
	lost := inventory.OwnFields(after).Difference(inventory.OwnFields(before)).Leaves()
	if lost.Empty() {
		return Loss{}, false
	}
	others := slices.Clone(before)
	slices.SortStableFunc(others, func(a, b metav1.ManagedFieldsEntry) int { return cmp.Compare(a.Manager, b.Manager) })
	own := inventory.OwnEntry(before)
	for i := range others {
		e := &others[i]
		if own != nil && e.Manager == own.Manager && e.Operation == own.Operation && e.Subresource == own.Subresource {
			continue
		}
		if taken := inventory.FieldsIn(e).Intersection(lost); !taken.Empty() {
			return Loss{manager: e.Manager, field: firstOf(taken)}, true
		}
	}
	return Loss{field: firstOf(lost)}, true
}

// firstOf is the first field of a set by name, shortened: a path may have whole texts in it, as of the items of a list.
func firstOf(set *fieldpath.Set) string {
	first := ""
	for path := range set.All() {
		if name := path.String(); first == "" || name < first {
			first = name
		}
	}
	return objects.Shorten(first)
}

// Round is what one reconcile found and did, for the corrections that are recorded.
type Round struct {
	// Made are the corrections, by id.
	Made map[string]Loss
	// Differs reports whether an object still differs from what was applied, or may do so.
	Differs func(id string) bool
	// Held are objects that were deleted, by id, each with a finalizer that holds it.
	Held map[string]string
	// New is true if the module has new inputs. They are applied in any case, and every count starts again.
	New bool
}

// correctionKey tells the corrections of an object's fields from those of its existence.
type correctionKey struct {
	id   string
	gone bool
}

func keyOf(c v1beta2.Correction) correctionKey { return correctionKey{c.ID, readiness.IsGone(c)} }

// NextCorrections returns the corrections to be recorded after a round, by id. The count starts again with another manager,
// and with the same one after a day, unless the object is in conflict: then it is corrected after waits that double. A
// conflict ends when the object has stayed as it should be for a while; its count is remembered for a day.
func NextCorrections(old []v1beta2.Correction, round Round, now metav1.Time) []v1beta2.Correction {
	var next []v1beta2.Correction
	before := map[correctionKey]v1beta2.Correction{}
	for _, c := range old {
		before[keyOf(c)] = c
		made, again := round.Made[c.ID]
		if again && made.isGone() == readiness.IsGone(c) || round.New || readiness.IsTerminating(c) {
			continue
		}
		switch {
		case round.Differs(c.ID):
		case readiness.IsConflict(c) && readiness.IsQuiet(c, now.Time):
			c.Over = true
		}
		if readiness.InRow(c, now.Time) {
			next = append(next, c)
		}
	}
	for id, l := range round.Made {
		c := v1beta2.Correction{ID: id, Manager: l.manager, Field: l.field, Times: 1, LastTime: now}
		if b, ok := before[keyOf(c)]; ok && !round.New && b.Manager == l.manager && readiness.InRow(b, now.Time) {
			c.Times = b.Times + 1
		}
		next = append(next, c)
	}
	for id, finalizer := range round.Held {
		next = append(next, heldSince(old, id, finalizer, now))
	}
	slices.SortFunc(next, func(a, b v1beta2.Correction) int {
		return cmp.Or(b.LastTime.Compare(a.LastTime.Time), compareCorrections(a, b))
	})
	if len(next) > readiness.MaxCorrections {
		next = next[:readiness.MaxCorrections]
	}
	slices.SortFunc(next, compareCorrections)
	return next
}

func compareCorrections(a, b v1beta2.Correction) int {
	return cmp.Or(strings.Compare(a.ID, b.ID), strings.Compare(a.Field, b.Field))
}

// heldSince is the record of an object that was deleted and cannot go: the one that there is, or a new one.
func heldSince(old []v1beta2.Correction, id, finalizer string, now metav1.Time) v1beta2.Correction {
	for _, c := range old {
		if c.ID == id && readiness.IsTerminating(c) && c.Manager == finalizer {
			return c
		}
	}
	return v1beta2.Correction{ID: id, Manager: finalizer, Field: readiness.FieldDeletion, LastTime: now}
}

// conflictEnds reports whether a conflict ends now, because its object has stayed as it should be for a while. Objects that
// differ are in the given map.
func conflictEnds(corrections []v1beta2.Correction, differing map[string]bool, now time.Time) bool {
	return slices.ContainsFunc(corrections, func(c v1beta2.Correction) bool {
		return readiness.IsConflict(c) && !differing[c.ID] && readiness.IsQuiet(c, now)
	})
}

// isHeld reports whether an object was deleted and a finalizer holds it.
func isHeld(live metav1.Object) bool {
	return !live.GetDeletionTimestamp().IsZero() && len(live.GetFinalizers()) > 0
}
