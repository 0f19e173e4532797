package removal

import (
	"time"

	"github.com/kyma-project/lifecycle-manager/workflows/internal/view"
)

// Purge is how far a deletion is with regard to its end by force. When it is due is computed anew by every check; what is
// carried of it is for people and for the timer only.
type Purge struct {
	// At is when the deletion is to be forced, by the last check; zero means never.
	At time.Time `json:"at,omitzero"`
	// OrderlyFor is how long an orderly removal must have been tried before, by the last check.
	OrderlyFor time.Duration `json:"orderlyFor,omitempty"`
	// OrderlySince is since when an orderly removal has been tried with control plane and Temporal up, and Next when
	// the check was planned that should follow the last one: one that comes much later shows that something was down.
	OrderlySince time.Time `json:"orderlySince,omitzero"`
	Next         time.Time `json:"next,omitzero"`
	// Requested is true once somebody asked not to wait for the grace period.
	Requested bool `json:"requested,omitempty"`
	// Begun is true once the removal budget admitted the purge.
	Begun bool `json:"begun,omitempty"`
	// AskedAt is when purges of all modules that remained were last begun.
	AskedAt time.Time `json:"askedAt,omitzero"`
	// Lost is true while only those Manifests are purged that cannot be removed because the access Secret is gone.
	Lost bool `json:"lost,omitempty"`
	// Cleanups counts the attempts to clean up the remote cluster by force.
	Cleanups int `json:"cleanups,omitempty"`
	// Forced is what this workflow itself forced.
	Forced view.Forced `json:"forcedObjects,omitzero"`
}

const (
	// askAgainAfter is how long a Manifest that was purged may remain before it is purged again: a finalizer of somebody else may
	// hold it.
	askAgainAfter = time.Minute
	// lateAfter is how much later than planned a check may come before the orderly removal counts as interrupted.
	lateAfter = 2 * time.Minute
	// cleanupAttempts is how often cleaning up the remote cluster by force may fail before it is abandoned, and
	// cleanupPause the pause between two attempts.
	cleanupAttempts = 2
	cleanupPause    = 10 * time.Second
)

// Interrupted notes that the control plane did not answer: that is no orderly removal.
func (p *Purge) Interrupted() { p.OrderlySince = time.Time{} }

// Checked notes what a check found: when the deletion is to be forced, and how long an orderly removal must have been
// tried before.
func (p *Purge) Checked(now, at time.Time, orderlyFor time.Duration) {
	p.At, p.OrderlyFor = at, orderlyFor
	if p.OrderlySince.IsZero() || now.After(p.Next.Add(lateAfter)) {
		p.OrderlySince = now
	}
}

// Due tells whether to force now: the grace period is over, which the present check has found anew, and an orderly removal
// was tried for long enough; or somebody asked for it.
func (p *Purge) Due(now time.Time, graceOver bool) bool {
	begun := p.Begun && !p.Lost || p.Cleanups > 0
	return p.Requested || graceOver && (begun || now.Sub(p.OrderlySince) >= p.OrderlyFor)
}

// SetLost notes whether only modules are purged whose cluster lost its access Secret. A purge of the other kind has to be
// admitted again.
func (p *Purge) SetLost(lost bool) {
	if p.Lost != lost {
		p.Lost, p.Begun, p.AskedAt = lost, false, time.Time{}
	}
}

// Ask reports whether to begin purges of all modules that remain, and notes that.
func (p *Purge) Ask(now time.Time) bool {
	if now.Before(p.AskedAt.Add(askAgainAfter)) {
		return false
	}
	p.AskedAt = now
	return true
}

// CleanupRetried tells whether a failed attempt to clean up by force is followed by another.
func (p *Purge) CleanupRetried() bool { return p.Cleanups <= cleanupAttempts }

// check is when a removal is to be checked because of the purge; zero means that it needs no check of its own.
func (p *Purge) check(now time.Time) time.Time {
	var at time.Time
	switch {
	case p.Cleanups > 0 && p.CleanupRetried():
		// The Manifests are gone already.
		return now.Add(cleanupPause)
	case now.Before(p.AskedAt.Add(askAgainAfter)):
		at = p.AskedAt.Add(askAgainAfter)
	case p.Begun || p.Cleanups > 0:
		// A failed step is retried as every other.
		return time.Time{}
	case p.At.IsZero() || p.OrderlySince.IsZero():
		return time.Time{}
	default:
		at = p.At
		if orderly := p.OrderlySince.Add(p.OrderlyFor); orderly.After(at) {
			at = orderly
		}
	}
	if soon := now.Add(minCheckAfter); at.Before(soon) {
		// The clock of the worker that checked is behind.
		return soon
	}
	return at
}

// WaitsFor says in words what a removal waits for, and when it is forced.
func (p *Purge) WaitsFor() string {
	if p.Begun || p.Requested {
		return "the modules to be purged"
	} else if !p.At.IsZero() {
		return "the modules to be removed; purge at " + p.At.UTC().Format(time.RFC3339)
	}
	return "the modules to be removed"
}
