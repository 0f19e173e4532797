package rotation

import "time"

// Lateness is something that should have happened by now.
type Lateness string

// What can be late.
const (
	// NotTrusted: the listener does not trust an authority yet.
	NotTrusted Lateness = "NotTrusted"
	// NotPromoted: an authority of ours could sign for long, and does not.
	NotPromoted Lateness = "NotPromoted"
	// NotRetired: agents still have certificates of a former authority.
	NotRetired Lateness = "NotRetired"
	// NotReplaced: the present authority is about to expire, or has expired.
	NotReplaced Lateness = "NotReplaced"
	// NotServed: the listener has no certificate, or one that should have been renewed.
	NotServed Lateness = "NotServed"
)

// Late is one thing that is late.
type Late struct {
	What        Lateness
	Fingerprint string
}

// Tolerance is how long things may take.
type Tolerance struct {
	// Buffer is how long after its time a step counts as late.
	Buffer time.Duration
	// Renewal is how long it takes until every agent has another certificate, once a former authority signs no more.
	Renewal time.Duration
}

// FindLate finds what is late. The order is that of the authorities; what concerns the listener comes last.
func FindLate(w Facts, r Rules, tolerance Tolerance) []Late {
	var all []Late
	for _, a := range w.State {
		after := func(at time.Time) bool { return w.Now.After(at.Add(tolerance.Buffer)) }
		switch {
		case a.Trusted.IsZero() && after(a.Since):
			all = append(all, Late{NotTrusted, a.Fingerprint})
		case r.Own && a.Phase == Next && !a.Trusted.IsZero() && after(a.Trusted.Add(r.Grace)):
			all = append(all, Late{NotPromoted, a.Fingerprint})
		case a.Phase == Former && a.Unused.IsZero() && after(a.Since.Add(tolerance.Renewal)):
			all = append(all, Late{NotRetired, a.Fingerprint})
		case a.Phase == Present && (a.Expired(w.Now.Add(r.Grace+tolerance.Buffer)) || r.Own && a.Signs && after(a.NotAfter.Add(-r.RenewBefore).Add(2*r.Grace))):
			all = append(all, Late{NotReplaced, a.Fingerprint})
		}
	}
	// What an issuer renewed may have to wait for the grace period of its authority.
	if w.Server.Signer == "" || w.Now.After(w.Server.Renewal.Add(r.Grace+tolerance.Buffer)) {
		all = append(all, Late{NotServed, w.Server.Signer})
	}
	return all
}
