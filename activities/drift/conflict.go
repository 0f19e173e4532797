package drift

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kyma-project/lifecycle-manager/activities/inventory"
	"github.com/kyma-project/lifecycle-manager/activities/kinds"
	"github.com/kyma-project/lifecycle-manager/activities/readiness"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Loss is a field whose ownership we lost, and to whom.
type Loss struct {
	// manager is the field manager that has it; empty when nobody has, since the field was removed.
	manager string
	// field is the first of the fields.
	field string
}

// lossOf says which fields of an object we own after it was applied and did not own before.
func lossOf(before, after []metav1.ManagedFieldsEntry) (Loss, bool) {
	lost := ownFields(after).Difference(ownFields(before)).Leaves()
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
		if taken := FieldsIn(e).Intersection(lost); !taken.Empty() {
			return Loss{manager: e.Manager, field: firstOf(taken)}, true
		}
	}
	return Loss{field: firstOf(lost)}, true
}

func ownFields(managed []metav1.ManagedFieldsEntry) *fieldpath.Set {
	if e := inventory.OwnEntry(managed); e != nil {
		return FieldsIn(e)
	}
	return fieldpath.NewSet()
}

// FieldsIn are the fields of an entry; none where it cannot be read.
func FieldsIn(e *metav1.ManagedFieldsEntry) *fieldpath.Set {
	set := fieldpath.NewSet()
	if e.FieldsV1 == nil {
		return set
	}
	if err := set.FromJSON(bytes.NewReader(e.FieldsV1.GetRawBytes())); err != nil {
		return fieldpath.NewSet()
	}
	return set
}

// firstOf is the first field of a set by name.
func firstOf(set *fieldpath.Set) string {
	first := ""
	for path := range set.All() {
		if name := path.String(); first == "" || name < first {
			first = name
		}
	}
	return first
}

// ScaledByOthers tells whether the number of a workload's replicas was set through its scale subresource, as an
// autoscaler does: then it is ignored (docs/design/install-and-drift.md#ignored-fields).
func ScaledByOthers(live metav1.Object) bool {
	for _, e := range live.GetManagedFields() {
		if e.Subresource == subresourceScale && FieldsIn(&e).Has(fieldpath.MakePathOrDie(kinds.PathSpec, kinds.PathReplicas)) {
			return true
		}
	}
	return false
}

const subresourceScale = "scale"

// waitsForRest tells whether an object is in conflict and not to be corrected yet.
func waitsForRest(corrections []v1beta2.Correction, id string, now time.Time) bool {
	for _, c := range corrections {
		if c.ID == id {
			return readiness.IsConflict(c) && !readiness.Rested(c, now)
		}
	}
	return false
}

// conflictRested tells whether one of the conflicts needs a reconcile: it rested, so that either the object is corrected
// once more or, when nobody changed it, the conflict has ended.
func conflictRested(corrections []v1beta2.Correction, now time.Time) bool {
	return slices.ContainsFunc(corrections, func(c v1beta2.Correction) bool {
		return readiness.IsConflict(c) && readiness.Rested(c, now)
	})
}

// NextCorrections are the corrections to be recorded after these were made, by id. The count starts again with another
// manager, and with the same one after a day, unless the object is in conflict: then it is corrected once a day. After a
// day without a correction the object is forgotten.
func NextCorrections(old []v1beta2.Correction, made map[string]Loss, now metav1.Time) []v1beta2.Correction {
	var next []v1beta2.Correction
	before := map[string]v1beta2.Correction{}
	for _, c := range old {
		before[c.ID] = c
		if _, again := made[c.ID]; !again && !readiness.Rested(c, now.Time) {
			next = append(next, c)
		}
	}
	for id, l := range made {
		c := v1beta2.Correction{ID: id, Manager: l.manager, Field: l.field, Times: 1, LastTime: now}
		if b, ok := before[id]; ok && b.Manager == l.manager && (readiness.IsConflict(b) || !readiness.Rested(b, now.Time)) {
			c.Times = b.Times + 1
		}
		next = append(next, c)
	}
	slices.SortFunc(next, func(a, b v1beta2.Correction) int {
		return cmp.Or(b.LastTime.Compare(a.LastTime.Time), strings.Compare(a.ID, b.ID))
	})
	if len(next) > readiness.MaxCorrections {
		next = next[:readiness.MaxCorrections]
	}
	slices.SortFunc(next, func(a, b v1beta2.Correction) int { return strings.Compare(a.ID, b.ID) })
	return next
}
