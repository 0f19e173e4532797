package removal

import (
	"time"

	"github.com/kyma-project/lifecycle-manager/workflows/internal/view"
)

// Purge holds the progress of a deletion towards being forced. Every check computes again whether the purge is due.
// The times in Purge serve only people and the timer.
type Purge struct {
	// At is when the last check expected the deletion to be forced. Zero means never.
	At time.Time `json:"at,omitzero"`
	// OrderlyFor is how long an orderly removal must be tried first, by the last check.
	OrderlyFor time.Duration `json:"orderlyFor,omitempty"`
	// OrderlySince is when the current uninterrupted orderly removal began, with control plane and Temporal up. Next
	// is the planned time of the next check. A check that comes much later shows that something was down.
	OrderlySince time.Time `json:"orderlySince,omitzero"`
	Next         time.Time `json:"next,omitzero"`
	// Requested is true once a user asked to skip the grace period.
	Requested bool `json:"requested,omitempty"`
	// Begun is true once the removal budget admitted the purge.
	Begun bool `json:"begun,omitempty"`
	// AskedAt is when the last purge of all remaining modules began.
	AskedAt time.Time `json:"askedAt,omitzero"`
	// Lost is true while the purge covers only Manifests that cannot be removed because the access Secret is gone.
	Lost bool `json:"lost,omitempty"`
	// Cleanups counts the attempts to force the cleanup of the remote cluster.
	Cleanups int `json:"cleanups,omitempty"`
	// Forced lists the objects that this workflow itself forced.
	Forced view.Forced `json:"forcedObjects,omitzero"`
}

const (
	// askAgainAfter is how long a purged Manifest may remain before it is purged again. A foreign finalizer may hold
	// it.
	askAgainAfter = time.Minute
	// lateAfter is how much later than planned a check may come before the orderly removal counts as interrupted.
	lateAfter = 2 * time.Minute
	// cleanupAttempts is how often the forced cleanup of the remote cluster may fail before it is abandoned.
	// cleanupPause is the pause between two attempts.
	cleanupAttempts = 2
	cleanupPause    = 10 * time.Second
)

// Interrupted records that the control plane did not answer. That interrupts the orderly removal.
func (p *Purge) Interrupted() { p.OrderlySince = time.Time{} }

// Checked records the result of a check: when to force the deletion, and how long an orderly removal must be tried
// first.
func (p *Purge) Checked(now, at time.Time, orderlyFor time.Duration) {
	p.At, p.OrderlyFor = at, orderlyFor
	if p.OrderlySince.IsZero() || now.After(p.Next.Add(lateAfter)) {
		p.OrderlySince = now
	}
}

// Due reports whether to force the removal now. It is due if a user requested it, or if the grace period is over and
// an orderly removal was tried for long enough. graceOver comes from the current check.
func (p *Purge) Due(now time.Time, graceOver bool) bool {
	begun := p.Begun && !p.Lost || p.Cleanups > 0
	return p.Requested || graceOver && (begun || now.Sub(p.OrderlySince) >= p.OrderlyFor)
}

// SetLost records whether the purge covers only modules whose cluster lost its access Secret. The removal budget has
// to admit the other kind of purge separately.
func (p *Purge) SetLost(lost bool) {
	if p.Lost != lost {
		p.Lost, p.Begun, p.AskedAt = lost, false, time.Time{}
	}
}

// Ask reports whether to purge all remaining modules now, and records that.
func (p *Purge) Ask(now time.Time) bool {
	if now.Before(p.AskedAt.Add(askAgainAfter)) {
		return false
	}
	p.AskedAt = now
	return true
}

// CleanupRetried reports whether a failed forced cleanup is tried again.
func (p *Purge) CleanupRetried() bool { return p.Cleanups <= cleanupAttempts }

// check returns when the purge needs a check of the removal. Zero means that the purge needs none.
func (p *Purge) check(now time.Time) time.Time {
	var at time.Time
	switch {
	case p.Cleanups > 0 && p.CleanupRetried():
		// The Manifests are gone already.
		return now.Add(cleanupPause)
	case now.Before(p.AskedAt.Add(askAgainAfter)):
		at = p.AskedAt.Add(askAgainAfter)
	case p.Begun || p.Cleanups > 0:
		// The general backoff retries a failed step.
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
		// The clock of the worker that checked is slow.
		return soon
	}
	return at
}

// WaitsFor returns, for people, what a removal waits for and when it is forced.
func (p *Purge) WaitsFor() string {
	if p.Begun || p.Requested {
		return "the modules to be purged"
	} else if !p.At.IsZero() {
		return "the modules to be removed; purge at " + p.At.UTC().Format(time.RFC3339)
	}
	return "the modules to be removed"
}
