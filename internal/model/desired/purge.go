package desired

import (
	"errors"
	"fmt"
	"time"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// PurgeSettings are the flags that say when the deletion of a Kyma is forced
// (docs/design/deletion-and-purge.md#the-deadline). The zero value never purges.
type PurgeSettings struct {
	// Enabled is `--enable-purge-finalizer`: without it nothing is forced unless somebody asks for it.
	Enabled bool
	// Grace is how long after its deletion a Kyma is purged (`--purge-finalizer-timeout`), where its annotation
	// AnnotationPurgeGracePeriod does not say otherwise.
	Grace time.Duration
	// Orderly is how long an orderly removal must have been tried before, with control plane and Temporal up
	// (`--purge-orderly-attempt`).
	Orderly time.Duration
}

// errNegative means that a grace period is below zero.
var errNegative = errors.New("it is negative")

// PurgeTime is when a Kyma under deletion is to be purged, by its deletion timestamp and the grace period that holds
// now; zero means never. The problem says in words why its annotation cannot be read; then the flag's grace holds.
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
			problem = fmt.Sprintf("the annotation %s cannot be read as a duration such as 36h, so that %s hold",
				shared.AnnotationPurgeGracePeriod, settings.Grace)
		}
	}
	return kyma.DeletionTimestamp.Add(grace).UTC(), problem
}
