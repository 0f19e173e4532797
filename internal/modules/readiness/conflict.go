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
	// conflictCorrections is how many corrections of an object in a row are a conflict.
	conflictCorrections = 3
	// firstRest is how long an object in conflict is not corrected after the correction that made it one. Each further
	// correction doubles this time, up to longestRest. It is shorter than the default interval of the sweep, so that the
	// next pass corrects again.
	firstRest   = 4 * time.Minute
	longestRest = 24 * time.Hour
	// longestQuiet is how long at most an object must stay as it should be for the conflict to end.
	longestQuiet = time.Hour
	// rowLimit is after how long two corrections are no longer in a row.
	rowLimit = 24 * time.Hour
	// MaxCorrections limits the list in the status; the latest are kept.
	MaxCorrections = 20
)

// Values of Correction.Field that are no field of the object's own.
const (
	// FieldNone: the object was deleted or replaced.
	FieldNone = ""
	// FieldLabels: the labels by which the object is found were removed.
	FieldLabels = ".metadata.labels"
	// FieldDeletion: the object was deleted, and a finalizer, named in place of the manager, holds it.
	FieldDeletion = ".metadata.deletionTimestamp"
)

// IsGone reports whether a correction created an object again, or found it again, that was gone from the module.
func IsGone(c v1beta2.Correction) bool { return c.Field == FieldNone || c.Field == FieldLabels }

// IsTerminating reports whether this is no correction, but an object that waits for a finalizer.
func IsTerminating(c v1beta2.Correction) bool { return c.Field == FieldDeletion }

// IsConflict reports whether an object was corrected so often in a row that somebody else must change it on purpose, and
// still does.
func IsConflict(c v1beta2.Correction) bool { return c.Times >= conflictCorrections && !c.Over }

// InRow reports whether a correction now is in a row with the last one.
func InRow(c v1beta2.Correction, now time.Time) bool {
	return IsConflict(c) || now.Sub(c.LastTime.Time) < rowLimit
}

// NextCorrection is when an object in conflict is corrected again at the earliest.
func NextCorrection(c v1beta2.Correction) time.Time { return c.LastTime.Add(restOf(c)) }

// Rested reports whether an object in conflict is to be corrected again.
func Rested(c v1beta2.Correction, now time.Time) bool { return !now.Before(NextCorrection(c)) }

// IsQuiet reports whether a conflict has ended if the object is as it should be: nobody changed it since its last correction,
// which is a while ago.
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

// Waiting returns the conflict for which an object is not corrected yet: about its existence if it is gone, else about its
// fields.
func Waiting(corrections []v1beta2.Correction, id string, gone bool, now time.Time) (v1beta2.Correction, bool) {
	return lists.Find(corrections, func(c v1beta2.Correction) bool {
		return c.ID == id && IsGone(c) == gone && IsConflict(c) && !Rested(c, now)
	})
}

// WithConflicts turns Ready into Warning if there is a conflict about one of the module's objects, or one of them cannot
// go. A module that waits for its objects says so too.
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

// DescribeConflict says who does what to which object, and what follows.
func DescribeConflict(c v1beta2.Correction) string {
	object := c.ID
	if gvk, name, err := (v1beta2.InventoryEntry{ID: c.ID, Version: "v1"}).Object(); err == nil {
		object = objects.Describe(gvk.Kind, name)
	}
	next := timeText(NextCorrection(c))
	switch c.Field {
	case FieldDeletion:
		return fmt.Sprintf("%s was deleted, and its finalizer %s holds it: it is created again once it is gone", object, ManagerName(c.Manager))
	case FieldNone:
		return fmt.Sprintf("%s deletes %s each time it is created: it is created again at %s at the earliest", ManagerName(c.Manager), object, next)
	case FieldLabels:
		return fmt.Sprintf("%s keeps removing our labels from %s: they are put back at %s at the earliest", ManagerName(c.Manager), object, next)
	default:
		return fmt.Sprintf("%s keeps changing %s of %s: it is put back at %s at the earliest", ManagerName(c.Manager), c.Field, object, next)
	}
}

// timeText is a time in messages.
func timeText(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// ManagerName names a field manager for messages.
func ManagerName(manager string) string {
	return cmp.Or(manager, "somebody")
}
