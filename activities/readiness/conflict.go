package readiness

import (
	"fmt"
	"time"

	"github.com/kyma-project/lifecycle-manager/activities/objects"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

const (
	// conflictCorrections is how often an object is corrected in a row before it counts as disputed.
	conflictCorrections = 3
	// conflictRest is how long a disputed object is left as it is between two corrections, and after how long
	// without a change two corrections are no longer in a row.
	conflictRest = 24 * time.Hour
	// MaxCorrections bounds the list in the status; the latest stay.
	MaxCorrections = 20
)

// IsConflict tells whether an object was corrected so often that somebody else must mean what he does.
func IsConflict(c v1beta2.Correction) bool { return c.Times >= conflictCorrections }

// Rested tells whether a correction is so long ago that a disputed object is corrected once more.
func Rested(c v1beta2.Correction, now time.Time) bool {
	return now.Sub(c.LastTime.Time) >= conflictRest
}

// WithConflicts says of a module that is ready otherwise that some of its objects are disputed.
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

// DescribeConflict says who changes what.
func DescribeConflict(c v1beta2.Correction) string {
	object := c.ID
	if gvk, name, err := (v1beta2.InventoryEntry{ID: c.ID, Version: "v1"}).Object(); err == nil {
		object = objects.Describe(gvk.Kind, name)
	}
	return fmt.Sprintf("%s keeps changing %s of %s, which is put right once a day from now on", ManagerName(c.Manager), c.Field, object)
}

func ManagerName(manager string) string {
	if manager == "" {
		return "somebody"
	}
	return manager
}
