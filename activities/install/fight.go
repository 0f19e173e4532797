package install

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

const (
	// disputedTimes is how often an object is corrected in a row before it counts as disputed.
	disputedTimes = 3
	// disputeRest is how long a disputed object is left as it is between two corrections, and after how long
	// without a change two corrections are no longer in a row.
	disputeRest = 24 * time.Hour
	// maxCorrections bounds the list in the status; the latest stay.
	maxCorrections = 20
)

// loss is what was taken from us, and by whom.
type loss struct {
	// manager is the field manager that has it; empty when nobody has, since the field was removed.
	manager string
	// field is one of the fields.
	field string
}

// lossOf says what we have of an object after it was applied and did not have before.
func lossOf(before, after []metav1.ManagedFieldsEntry) (loss, bool) {
	lost := ownFields(after).Difference(ownFields(before)).Leaves()
	if lost.Empty() {
		return loss{}, false
	}
	others := slices.Clone(before)
	slices.SortStableFunc(others, func(a, b metav1.ManagedFieldsEntry) int { return cmp.Compare(a.Manager, b.Manager) })
	own := ownEntry(before)
	for i := range others {
		e := &others[i]
		if own != nil && e.Manager == own.Manager && e.Operation == own.Operation && e.Subresource == own.Subresource {
			continue
		}
		if taken := fieldsIn(e).Intersection(lost); !taken.Empty() {
			return loss{manager: e.Manager, field: firstOf(taken)}, true
		}
	}
	return loss{field: firstOf(lost)}, true
}

func ownFields(managed []metav1.ManagedFieldsEntry) *fieldpath.Set {
	if e := ownEntry(managed); e != nil {
		return fieldsIn(e)
	}
	return fieldpath.NewSet()
}

// fieldsIn are the fields of an entry; none of one that cannot be read.
func fieldsIn(e *metav1.ManagedFieldsEntry) *fieldpath.Set {
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

// scaledByOthers tells whether the number of a workload's replicas was set through its scale subresource, as an
// autoscaler does: then it is given up (design, section 8).
func scaledByOthers(live metav1.Object) bool {
	for _, e := range live.GetManagedFields() {
		if e.Subresource == subresourceScale && fieldsIn(&e).Has(fieldpath.MakePathOrDie(pathSpec, pathReplicas)) {
			return true
		}
	}
	return false
}

const subresourceScale = "scale"

// isDisputed tells whether an object was corrected so often that somebody else must mean what he does.
func isDisputed(c v1beta2.Correction) bool { return c.Times >= disputedTimes }

// rested tells whether a correction is so long ago that a disputed object is corrected once more.
func rested(c v1beta2.Correction, now time.Time) bool { return now.Sub(c.LastTime.Time) >= disputeRest }

// leftToOthers tells whether an object is disputed and not to be corrected yet.
func leftToOthers(corrections []v1beta2.Correction, id string, now time.Time) bool {
	for _, c := range corrections {
		if c.ID == id {
			return isDisputed(c) && !rested(c, now)
		}
	}
	return false
}

// disputeIsOver tells whether one of the disputes needs a look: it rested, so that either the object is corrected
// once more or, when nobody changed it, nothing is disputed any more.
func disputeIsOver(corrections []v1beta2.Correction, now time.Time) bool {
	return slices.ContainsFunc(corrections, func(c v1beta2.Correction) bool { return isDisputed(c) && rested(c, now) })
}

// nextCorrections are the corrections to be remembered after these were made, by id. Another manager than before
// begins anew, and so does the same one after a day, unless the object is disputed: that one is corrected once a
// day. A day without a correction and the object is forgotten.
func nextCorrections(old []v1beta2.Correction, made map[string]loss, now metav1.Time) []v1beta2.Correction {
	var next []v1beta2.Correction
	before := map[string]v1beta2.Correction{}
	for _, c := range old {
		before[c.ID] = c
		if _, again := made[c.ID]; !again && !rested(c, now.Time) {
			next = append(next, c)
		}
	}
	for id, l := range made {
		c := v1beta2.Correction{ID: id, Manager: l.manager, Field: l.field, Times: 1, LastTime: now}
		if b, ok := before[id]; ok && b.Manager == l.manager && (isDisputed(b) || !rested(b, now.Time)) {
			c.Times = b.Times + 1
		}
		next = append(next, c)
	}
	slices.SortFunc(next, func(a, b v1beta2.Correction) int {
		return cmp.Or(b.LastTime.Compare(a.LastTime.Time), strings.Compare(a.ID, b.ID))
	})
	if len(next) > maxCorrections {
		next = next[:maxCorrections]
	}
	slices.SortFunc(next, func(a, b v1beta2.Correction) int { return strings.Compare(a.ID, b.ID) })
	return next
}

// withDisputes says of a module that is ready otherwise that some of its objects are disputed.
func withDisputes(o Observed, corrections []v1beta2.Correction) Observed {
	if o.State != shared.StateReady {
		return o
	}
	for _, c := range corrections {
		if isDisputed(c) {
			o.State, o.Reason, o.Message = shared.StateWarning, ReasonDisputed, disputeOf(c)
			return o
		}
	}
	return o
}

// disputeOf says who changes what.
func disputeOf(c v1beta2.Correction) string {
	object := c.ID
	if gvk, name, err := (v1beta2.InventoryEntry{ID: c.ID, Version: "v1"}).Object(); err == nil {
		object = describe(gvk.Kind, name)
	}
	return fmt.Sprintf("%s keeps changing %s of %s, which is put right once a day from now on", managerName(c.Manager), c.Field, object)
}

func managerName(manager string) string {
	if manager == "" {
		return "somebody"
	}
	return manager
}
