package readiness

import (
	"cmp"
	"fmt"
	"time"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

const (
	// conflictCorrections is the number of consecutive corrections of an object that make a conflict.
	conflictCorrections = 3
	// firstRest is how long an object is not corrected after the correction that made it a conflict. Each further
	// correction doubles this time, up to longestRest. firstRest is shorter than the default interval of the sweep, so
	// that the next pass corrects the object again.
	firstRest   = 4 * time.Minute
	longestRest = 24 * time.Hour
	// longestQuiet is the maximum time that an object must stay unchanged before its conflict ends.
	longestQuiet = time.Hour
	// rowLimit is the time after which two corrections no longer count as consecutive.
	rowLimit = 24 * time.Hour
	// MaxCorrections limits the list in the status. The latest corrections are kept.
	MaxCorrections = 20
)

// Values of Correction.Field that are not fields of the object.
const (
	// FieldNone means that the object was deleted or replaced.
	FieldNone = ""
	// FieldLabels means that the labels that identify the object were removed.
	FieldLabels = ".metadata.labels"
	// FieldDeletion means that the object was deleted and a finalizer holds it. Correction.Manager is then the
	// finalizer.
	FieldDeletion = ".metadata.deletionTimestamp"
)

// IsGone reports whether the corrected object had been missing: deleted, or without our labels.
func IsGone(c v1beta2.Correction) bool { return c.Field == FieldNone || c.Field == FieldLabels }

// IsTerminating reports whether this entry is not a correction, but an object that waits for a finalizer.
func IsTerminating(c v1beta2.Correction) bool { return c.Field == FieldDeletion }

// IsConflict reports whether an object was corrected so often in a row that another manager must be changing it on
// purpose, and still does.
func IsConflict(c v1beta2.Correction) bool { return c.Times >= conflictCorrections && !c.Over }

// InRow reports whether a correction made now and the last one are consecutive.
func InRow(c v1beta2.Correction, now time.Time) bool {
	return IsConflict(c) || now.Sub(c.LastTime.Time) < rowLimit
}

// NextCorrection returns the earliest time at which an object in conflict is corrected again.
func NextCorrection(c v1beta2.Correction) time.Time { return c.LastTime.Add(restOf(c)) }

// Rested reports whether an object in conflict may be corrected again.
func Rested(c v1beta2.Correction, now time.Time) bool { return !now.Before(NextCorrection(c)) }

// IsQuiet reports whether the last correction is so long ago that the conflict has ended, provided that the object is
// unchanged.
func IsQuiet(c v1beta2.Correction, now time.Time) bool {
	return now.Sub(c.LastTime.Time) >= min(restOf(c), longestQuiet)
}

func restOf(c v1beta2.Correction) time.Duration {
	rest := firstRest
	for n := c.Times; n > conflictCorrections && rest < longestRest; n-- {
		rest *= 2
	}
	return min(rest, longestRest)
}

// Waiting returns the conflict that keeps an object from being corrected now: a conflict about its existence if gone
// is true, otherwise one about its fields.
func Waiting(corrections []v1beta2.Correction, id string, gone bool, now time.Time) (v1beta2.Correction, bool) {
	return lists.Find(corrections, func(c v1beta2.Correction) bool {
		return c.ID == id && IsGone(c) == gone && IsConflict(c) && !Rested(c, now)
	})
}

// WithConflicts turns Ready into Warning if one of the module's objects is in conflict, or cannot be deleted because
// of a finalizer. If the module waits for its objects, WithConflicts adds the conflict to the message.
func WithConflicts(o Observed, corrections []v1beta2.Correction) Observed {
	if o.State != shared.StateReady && o.Reason != ReasonResourcesPending {
		return o
	}
	for _, c := range corrections {
		if !IsConflict(c) && (!IsTerminating(c) || o.State != shared.StateReady) {
			continue
		}
		if o.State != shared.StateReady {
			o.Message += "; " + DescribeConflict(c)
			return o
		}
		o.State, o.Reason, o.Message = shared.StateWarning, ReasonFieldConflict, DescribeConflict(c)
		switch {
		case IsTerminating(c):
			o.Reason = ReasonResourcesTerminating
		case IsGone(c):
			o.Reason = ReasonResourcesRecreated
		}
		return o
	}
	return o
}

// DescribeConflict returns who does what to which object, and what happens next.
func DescribeConflict(c v1beta2.Correction) string {
	object := c.ID
	if gvk, name, err := (v1beta2.InventoryEntry{ID: c.ID, Version: "v1"}).Object(); err == nil {
		object = objects.Describe(gvk.Kind, name)
	}
	next := timeText(NextCorrection(c))
	switch c.Field {
	case FieldDeletion:
		return fmt.Sprintf("%s is being deleted and waits for its finalizer %s: it is created again after that", object, ManagerName(c.Manager))
	case FieldNone:
		return fmt.Sprintf("%s keeps deleting %s: it is created again no earlier than %s", ManagerName(c.Manager), object, next)
	case FieldLabels:
		return fmt.Sprintf("%s keeps removing our labels from %s: they are restored no earlier than %s", ManagerName(c.Manager), object, next)
	default:
		return fmt.Sprintf("%s keeps changing %s of %s: it is corrected again no earlier than %s", ManagerName(c.Manager), c.Field, object, next)
	}
}

// timeText formats a time for messages.
func timeText(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// ManagerName returns the name of a field manager for messages.
func ManagerName(manager string) string {
	return cmp.Or(manager, "somebody")
}
