package desired

import (
	"errors"
	"fmt"
	"time"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// PurgeSettings are the flags that decide when the deletion of a Kyma is forced
// (docs/design/deletion-and-purge.md#the-deadline). The zero value never purges.
type PurgeSettings struct {
	// Enabled is `--enable-purge-finalizer`. If it is false, a deletion is forced only on request.
	Enabled bool
	// Grace is how long after its deletion a Kyma is purged (`--purge-finalizer-timeout`). The Kyma's annotation
	// AnnotationPurgeGracePeriod overrides it.
	Grace time.Duration
	// Orderly is how long an orderly removal must have been tried before the purge, with control plane and Temporal up
	// (`--purge-orderly-attempt`).
	Orderly time.Duration
}

// errNegative means that a grace period is negative.
var errNegative = errors.New("it is negative")

// PurgeTime returns when a Kyma under deletion will be purged: its deletion timestamp plus the present grace period;
// zero means never. The problem says why its annotation is invalid. Then the grace period of the flag counts.
func PurgeTime(kyma *v1beta2.Kyma, settings PurgeSettings) (at time.Time, problem string) {
	if kyma.DeletionTimestamp.IsZero() || !settings.Enabled {
		return time.Time{}, ""
	}
	grace := settings.Grace
	if value, set := kyma.Annotations[shared.AnnotationPurgeGracePeriod]; set {
		wanted, err := time.ParseDuration(value)
		if err == nil && wanted < 0 {
			err = errNegative
		}
		if err == nil {
			grace = wanted
		} else {
			problem = fmt.Sprintf("the annotation %s is not a duration such as 36h, so the default of %s applies",
				shared.AnnotationPurgeGracePeriod, settings.Grace)
		}
	}
	return kyma.DeletionTimestamp.Add(grace).UTC(), problem
}
