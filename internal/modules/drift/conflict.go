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

// Loss records a field that another manager took from us, or an object that was missing.
type Loss struct {
	// manager is the field manager that now owns the field; empty if nobody does, because the field was removed.
	manager string
	// field is the first lost field. If the object was missing, field is empty or a constant of package readiness.
	field string
}

func (l Loss) isGone() bool { return readiness.IsGone(v1beta2.Correction{Field: l.field}) }

// lossOf returns the loss of fields that we own after an apply and did not own before it. It returns false if there
// are none.
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

// firstOf returns the first field of a set by name. It shortens the name, because a path can contain whole texts, for
// example of list items.
func firstOf(set *fieldpath.Set) string {
	first := ""
	for path := range set.All() {
		if name := path.String(); first == "" || name < first {
			first = name
		}
	}
	return objects.Shorten(first)
}

// Round describes what one reconcile found and did, to compute the corrections to record.
type Round struct {
	// Made holds the corrections of this round, by id.
	Made map[string]Loss
	// Differs reports whether an object still differs, or may differ, from what was applied.
	Differs func(id string) bool
	// Held maps the ids of deleted objects to a finalizer that holds each of them.
	Held map[string]string
	// New is true if the module has new inputs. They are applied in any case, and every count starts again.
	New bool
}

// correctionKey distinguishes corrections of an object's fields from corrections of its existence.
type correctionKey struct {
	id   string
	gone bool
}

func keyOf(c v1beta2.Correction) correctionKey { return correctionKey{c.ID, readiness.IsGone(c)} }

// NextCorrections returns the corrections to record after a round, sorted by id. The count starts again if another
// manager made the change, or after a day. An object in conflict is corrected after waits that double, and its count
// goes on. A conflict ends when the object has stayed unchanged for a while. Its count is remembered for a day.
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

// heldSince returns the record of a deleted object that a finalizer holds: the existing record, or a new one.
func heldSince(old []v1beta2.Correction, id, finalizer string, now metav1.Time) v1beta2.Correction {
	for _, c := range old {
		if c.ID == id && readiness.IsTerminating(c) && c.Manager == finalizer {
			return c
		}
	}
	return v1beta2.Correction{ID: id, Manager: finalizer, Field: readiness.FieldDeletion, LastTime: now}
}

// conflictEnds reports whether a conflict ends now because its object has stayed unchanged for a while. The given map
// holds objects that differ.
func conflictEnds(corrections []v1beta2.Correction, differing map[string]bool, now time.Time) bool {
	return slices.ContainsFunc(corrections, func(c v1beta2.Correction) bool {
		return readiness.IsConflict(c) && !differing[c.ID] && readiness.IsQuiet(c, now)
	})
}

// isHeld reports whether a finalizer holds a deleted object.
func isHeld(live metav1.Object) bool {
	return !live.GetDeletionTimestamp().IsZero() && len(live.GetFinalizers()) > 0
}
