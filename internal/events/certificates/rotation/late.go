package rotation

import "time"

// Lateness is a step that should have happened by now.
type Lateness string

// Values of Lateness.
const (
	// NotTrusted means that the listener does not trust an authority yet.
	NotTrusted Lateness = "NotTrusted"
	// NotPromoted means that an authority of ours could have been signing for a long time and does not sign.
	NotPromoted Lateness = "NotPromoted"
	// NotRetired means that agents still have certificates of a former authority.
	NotRetired Lateness = "NotRetired"
	// NotReplaced means that the present authority is about to expire, or has expired.
	NotReplaced Lateness = "NotReplaced"
	// NotServed means that the listener has no certificate, or one that should have been renewed.
	NotServed Lateness = "NotServed"
)

// Late is a late step of an authority.
type Late struct {
	What        Lateness
	Fingerprint string
}

// Tolerance is how long steps may take.
type Tolerance struct {
	// Buffer is how long after its time a step counts as late.
	Buffer time.Duration
	// Renewal is how long it takes until every agent has another certificate after a former authority stopped signing.
	Renewal time.Duration
}

// FindLate returns the late steps in the order of the authorities. A late step of the listener comes last.
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
	// A certificate that an issuer renewed may have to wait for the grace period of its authority.
	if w.Server.Signer == "" || w.Now.After(w.Server.Renewal.Add(r.Grace+tolerance.Buffer)) {
		all = append(all, Late{NotServed, w.Server.Signer})
	}
	return all
}
