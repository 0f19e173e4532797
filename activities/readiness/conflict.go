package readiness

import (
	"fmt"
	"time"

	"github.com/kyma-project/lifecycle-manager/activities/objects"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

const (
	// conflictCorrections is how many corrections of an object in a row are a field ownership conflict.
	conflictCorrections = 3
	// conflictRest is how long an object in conflict is not corrected after a correction, and after how long two
	// corrections are no longer in a row.
	conflictRest = 24 * time.Hour
	// MaxCorrections limits the list in the status; the latest are kept.
	MaxCorrections = 20
)

// IsConflict tells whether an object was corrected so often in a row that somebody else must change it on purpose.
func IsConflict(c v1beta2.Correction) bool { return c.Times >= conflictCorrections }

// Rested tells whether a correction is so long ago that an object in conflict is corrected once more.
func Rested(c v1beta2.Correction, now time.Time) bool {
	return now.Sub(c.LastTime.Time) >= conflictRest
}

// WithConflicts turns Ready into Warning where there is a conflict about one of the module's objects.
func WithConflicts(o Observed, corrections []v1beta2.Correction) Observed {
	if o.State != shared.StateReady {
		return o
	}
	for _, c := range corrections {
		if IsConflict(c) {
			o.State, o.Reason, o.Message = shared.StateWarning, ReasonFieldConflict, DescribeConflict(c)
			return o
		}
	}
	return o
}

// DescribeConflict says who changes which field.
func DescribeConflict(c v1beta2.Correction) string {
	object := c.ID
	if gvk, name, err := (v1beta2.InventoryEntry{ID: c.ID, Version: "v1"}).Object(); err == nil {
		object = objects.Describe(gvk.Kind, name)
	}
	return fmt.Sprintf("%s keeps changing %s of %s, which is corrected once a day from now on", ManagerName(c.Manager), c.Field, object)
}

// ManagerName names a field manager for messages.
func ManagerName(manager string) string {
	if manager == "" {
		return "somebody"
	}
	return manager
}
