// Package removal decides, purely, how the deletion of a Kyma proceeds: Next which step comes now, NextCheck when the
// next one comes if no kick does, and Purge when the removal is forced.
//
// The order of the steps (docs/contract.md#removal): the Manifests, what is ours in the remote cluster, the Kyma.
package removal

import (
	"time"

	"github.com/kyma-project/lifecycle-manager/internal/platform/spread"
)

// Step is what a removal does now.
type Step string

// The steps of a removal.
const (
	// End: the Kyma is gone.
	End Step = "end"
	// Resume: the Kyma exists and is not being deleted any more, as after a restore of the control plane.
	Resume Step = "resume"
	// Wait: Manifests remain, whose modules are being removed.
	Wait Step = "wait for the modules"
	// Release: Manifests remain that cannot be removed because the access Secret is gone; only they are forced.
	Release Step = "release the modules without access"
	// PurgeModules: all Manifests that remain are forced.
	PurgeModules Step = "purge the modules"
	// PurgeCluster: no Manifest remains to be forced, and what is ours in the remote cluster is removed by force.
	PurgeCluster Step = "purge the remote cluster"
	// CleanUp: no Manifest remains, and what is ours in the remote cluster is removed.
	CleanUp Step = "clean up the remote cluster"
)

// Situation is all that the decision depends on: what deleting the Manifests found.
type Situation struct {
	// Failed is true when the Manifests could not be deleted; nothing else is known then.
	Failed bool
	// Gone is true when the Kyma is gone, Alive when it exists and is not being deleted.
	Gone, Alive bool
	// Remaining is how many Manifests remain. A purge may force Purgeable of them: not those that the garbage collector
	// is to release. WithoutAccess of them need an access Secret that does not exist.
	Remaining, Purgeable, WithoutAccess int
	// SecretGone is true once the access Secret counts as gone for good.
	SecretGone bool
	// PurgeDue is true when the removal is to be forced now.
	PurgeDue bool
}

// Next decides.
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

// secretGoneAfter is how far apart two reads must be that both find no access Secret, before the Secret of a Kyma under
// deletion counts as gone (docs/design/deletion-and-purge.md#lost-access).
const secretGoneAfter = 2 * time.Minute

// SecretGone tells whether two reads, far enough apart, both found no access Secret. missing is what the read at now
// found, since when the first of those that found none was made; zero where there was none. It returns since anew.
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
	// checkAfter is how long a removal waits for a kick before it checks by itself.
	checkAfter = time.Minute
	// maxCheckAfter bounds the doubling of that wait while no kick comes: what blocks a removal, such as a user's
	// custom resource, may stay for months.
	maxCheckAfter = 15 * time.Minute
	// minCheckAfter is how soon a removal checks that the purge asks for.
	minCheckAfter = 5 * time.Second
)

// NextCheck is when a removal is checked if no kick comes: less and less often, and in time for the purge and for the
// second read of an access Secret that was missing. checks is how often it was checked since the last kick; id spreads
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
