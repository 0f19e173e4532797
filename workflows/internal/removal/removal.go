// Package removal decides how the deletion of a Kyma proceeds. Next returns the current step. NextCheck returns the
// time of the next check if no kick comes. Purge decides when to force the removal. All functions are pure.
//
// The order of the steps is: the Manifests, our objects in the remote cluster, the Kyma (docs/contract.md#removal).
package removal

import (
	"time"

	"github.com/kyma-project/lifecycle-manager/internal/platform/spread"
)

// Step is a step of a removal.
type Step string

// The steps of a removal.
const (
	// End: the Kyma is gone.
	End Step = "end"
	// Resume: the Kyma exists and is no longer being deleted, for example after a restore of the control plane.
	Resume Step = "resume"
	// Wait: Manifests remain while their modules are being removed.
	Wait Step = "wait for the modules"
	// Release: some Manifests cannot be removed because the access Secret is gone. Only these are forced.
	Release Step = "release the modules without access"
	// PurgeModules: force all remaining Manifests.
	PurgeModules Step = "purge the modules"
	// PurgeCluster: no Manifest remains to be forced. Force the removal of our objects in the remote cluster.
	PurgeCluster Step = "purge the remote cluster"
	// CleanUp: no Manifest remains. Remove our objects in the remote cluster.
	CleanUp Step = "clean up the remote cluster"
)

// Situation holds everything that Next depends on: the result of deleting the Manifests.
type Situation struct {
	// Failed is true if the Manifests could not be deleted. The other fields are then unknown.
	Failed bool
	// Gone is true if the Kyma is gone. Alive is true if it exists and is not being deleted.
	Gone, Alive bool
	// Remaining counts the Manifests that remain. A purge may force Purgeable of them; the garbage collector releases
	// the others. WithoutAccess counts those that need an access Secret that does not exist.
	Remaining, Purgeable, WithoutAccess int
	// SecretGone is true once the access Secret counts as permanently gone.
	SecretGone bool
	// PurgeDue is true if the removal must be forced now.
	PurgeDue bool
}

// Next returns the next step.
func Next(s Situation) Step {
	switch {
	case s.Failed:
		return Wait
	case s.Gone:
		return End
	case s.Alive:
		return Resume
	case s.PurgeDue && s.Purgeable > 0:
		return PurgeModules
	case s.PurgeDue:
		return PurgeCluster
	case s.SecretGone && s.WithoutAccess > 0:
		return Release
	case s.Remaining > 0:
		return Wait
	default:
		return CleanUp
	}
}

// secretGoneAfter is the minimum time between two reads that find no access Secret, before the Secret of a Kyma under
// deletion counts as gone (docs/design/deletion-and-purge.md#lost-access).
const secretGoneAfter = 2 * time.Minute

// SecretGone reports whether the access Secret counts as gone: two reads, far enough apart, both found none. missing
// is the result of the read at now. since is the time of the first read that found none, or zero. SecretGone returns
// the new value of since.
func SecretGone(since, now time.Time, missing bool) (time.Time, bool) {
	if !missing {
		return time.Time{}, false
	}
	if since.IsZero() {
		return now, false
	}
	return since, now.Sub(since) >= secretGoneAfter
}

const (
	// checkAfter is how long a removal waits for a kick before it checks again.
	checkAfter = time.Minute
	// maxCheckAfter bounds the doubling of that wait. A removal may be blocked for months, for example by a user's
	// custom resource.
	maxCheckAfter = 15 * time.Minute
	// minCheckAfter is the minimum time to a check that the purge needs.
	minCheckAfter = 5 * time.Second
)

// NextCheck returns when to check a removal if no kick comes. The wait doubles with checks, the number of checks
// since the last kick. It ends in time for the purge and for the second read of a missing access Secret. id spreads
// the fleet.
func NextCheck(now time.Time, checks int, id string, p Purge, secretMissingSince time.Time) time.Time {
	wait := min(checkAfter<<min(checks, 8), maxCheckAfter)
	check := now.Add(wait + spread.Delay(wait/4, id))
	if sooner := p.check(now); !sooner.IsZero() && sooner.Before(check) {
		check = sooner
	}
	if second := secretMissingSince.Add(secretGoneAfter); second.After(now) && second.Before(check) {
		check = second
	}
	return check
}
