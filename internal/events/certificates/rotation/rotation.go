// Package rotation decides the next step of replacing the authority of agents' and the listener's certificates, so
// that neither side ever refuses the other. It reads and writes nothing itself: Decide works on Facts that were read,
// and Apply returns the State after a decision.
//
// An authority goes through these phases:
//
//   - Next: the listener and the bundles of agents trust it. Nobody has a certificate of it.
//   - Present, after the grace period: it signs, and the listener shows a certificate of it.
//   - Former: it is trusted until no agent has had a certificate of it for two grace periods, or until it
//     expires.
package rotation

import (
	"slices"
	"time"

	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// Phase is the phase of an authority.
type Phase string

// Phases of an authority.
const (
	Next    Phase = "next"
	Present Phase = "present"
	Former  Phase = "former"
)

// Authority describes an authority. Its certificate and private key are stored elsewhere.
type Authority struct {
	// Fingerprint identifies the authority.
	Fingerprint string `json:"fingerprint"`
	Phase       Phase  `json:"phase"`
	// Since is when the phase began.
	Since    time.Time `json:"since"`
	NotAfter time.Time `json:"notAfter"`
	// Trusted is since when the listener is known to trust the authority; zero if it is not.
	Trusted time.Time `json:"trusted,omitzero"`
	// Unused is since when no agent is known to have a certificate of the authority; zero if one has, or if agents were
	// not counted.
	Unused time.Time `json:"unused,omitzero"`
	// Signs is true if the authority's private key is ours.
	Signs bool `json:"signs,omitempty"`
}

// Expired reports whether the authority is no longer valid.
func (a Authority) Expired(now time.Time) bool { return !now.Before(a.NotAfter) }

// State holds all trusted authorities.
type State []Authority

// Of returns the authority with this fingerprint.
func (s State) Of(fingerprint string) (Authority, bool) {
	return lists.Find(s, func(a Authority) bool { return a.Fingerprint == fingerprint })
}

// In returns the first authority in this phase.
func (s State) In(phase Phase) (Authority, bool) {
	return lists.Find(s, func(a Authority) bool { return a.Phase == phase })
}

// Accepts reports whether the listener accepts certificates of an authority if it takes up to reload to read its
// trusted authorities. It accepts those of the present authority at once.
func (s State) Accepts(fingerprint string, now time.Time, reload time.Duration) bool {
	a, has := s.Of(fingerprint)
	return has && !a.Trusted.IsZero() && (a.Phase == Present || !now.Before(a.Trusted.Add(reload)))
}

// Signer returns the authority that signs for agents: the present one or, if its private key is not ours, the next
// one as soon as the listener accepts it. It returns false if none can sign yet.
func (s State) Signer(now time.Time, reload time.Duration) (Authority, bool) {
	for _, phase := range []Phase{Present, Next} {
		for _, a := range s {
			if a.Phase == phase && a.Signs && s.Accepts(a.Fingerprint, now, reload) && !a.Expired(now) {
				return a, true
			}
		}
	}
	return Authority{}, false
}

// fingerprints returns the fingerprints of all authorities, sorted.
func (s State) fingerprints() []string {
	all := lists.Map(s, func(a Authority) string { return a.Fingerprint })
	slices.Sort(all)
	return all
}

// Server describes a server certificate of the listener.
type Server struct {
	// Signer is the fingerprint of its authority; empty if there is no usable certificate.
	Signer   string
	Serial   string
	NotAfter time.Time
	// Renewal is when the certificate has to be renewed.
	Renewal time.Time
	// Mismatched is true if the certificate's names are not the listener's names.
	Mismatched bool
	// Useless is true if the certificate is for none of the listener's names.
	Useless bool
}

// Facts holds what was read.
type Facts struct {
	Now   time.Time
	State State
	// HasListener is true if the listener's Secret exists. Trusted are the authorities that the listener trusts, by
	// fingerprint. Server is its certificate.
	HasListener bool
	Trusted     []string
	Server      Server
	// Offered is the listener certificate from an external issuer.
	Offered Server
	// Counted is true if agents were counted. Agents is the number of agents with a certificate of each authority, by
	// fingerprint. The empty fingerprint stands for an unknown authority.
	Counted bool
	Agents  map[string]int
	// Asked is true if somebody requested another authority.
	Asked bool
}

// Rules holds the settings.
type Rules struct {
	// Own is true if the authorities are ours.
	Own bool
	// Grace is the maximum time that agents take to receive a bundle, and again to receive a certificate of an authority
	// in it.
	Grace time.Duration
	// RenewBefore is how long before an authority of ours expires the next one is created.
	RenewBefore time.Duration
}

// Kind is the kind of a Decision.
type Kind string

// Values of Kind. Each step is one write.
const (
	// Wait means that there is nothing to do before Decision.At.
	Wait Kind = "wait"
	// Create creates an authority of ours in phase Decision.Phase.
	Create Kind = "create"
	// Publish writes the trusted authorities into the listener's Secret.
	Publish Kind = "publish"
	// Serve writes the listener's certificate and the trusted authorities.
	Serve Kind = "serve"
	// Record records since when the listener trusts an authority. Unuse records since when no agent uses it, and Reuse
	// that an agent uses it again.
	Record Kind = "record"
	Unuse  Kind = "unuse"
	Reuse  Kind = "reuse"
	// Promote makes an authority the present one, and Drop ends the trust in it.
	Promote Kind = "promote"
	Drop    Kind = "drop"
)

// Decision is the next step.
type Decision struct {
	Kind        Kind
	Fingerprint string
	Phase       Phase
	// At is the latest time of the next decision if the Kind is Wait; zero if nothing is due.
	At time.Time
}

// Decide returns the next step. If each step is carried out and Decide is called again, it ends with Wait.
func Decide(w Facts, r Rules) Decision {
	for _, decide := range []func(Facts, Rules) (Decision, bool){create, publish, promote, serve, begin, retire} {
		if d, decided := decide(w, r); decided {
			return d
		}
	}
	return Decision{Kind: Wait, At: nextTime(w, r)}
}

// create decides to create the first authority, or another one if none of the others can sign. It also drops expired
// authorities.
func create(w Facts, r Rules) (Decision, bool) {
	usable := false
	for _, a := range w.State {
		if a.Phase != Present && a.Expired(w.Now) {
			return Decision{Kind: Drop, Fingerprint: a.Fingerprint}, true
		}
		usable = usable || a.Signs && a.Phase != Former && !a.Expired(w.Now)
	}
	if !r.Own || usable {
		return Decision{}, false
	}
	if len(w.State) == 0 {
		return Decision{Kind: Create, Phase: Present}, true
	}
	return Decision{Kind: Create, Phase: Next}, true
}

// publish decides to make the listener trust all authorities, and to record that it does.
func publish(w Facts, _ Rules) (Decision, bool) {
	if !w.HasListener {
		return Decision{}, false
	}
	trusted := slices.Clone(w.Trusted)
	slices.Sort(trusted)
	if len(w.State) > 0 && !slices.Equal(trusted, w.State.fingerprints()) {
		return Decision{Kind: Publish}, true
	}
	for _, a := range w.State {
		if a.Trusted.IsZero() {
			return Decision{Kind: Record, Fingerprint: a.Fingerprint}, true
		}
	}
	return Decision{}, false
}

// candidate returns the authority that has to become the present one.
func candidate(w Facts, r Rules) (Authority, bool) {
	if !r.Own {
		a, known := w.State.Of(w.Offered.Signer)
		return a, known && a.Phase != Present
	}
	return lists.Find(w.State, func(a Authority) bool { return a.Phase == Next && a.Signs })
}

// mayPromoteAt returns when a candidate may become the present one; zero means at once. It returns false if that is
// not known yet.
func mayPromoteAt(w Facts, r Rules, a Authority) (time.Time, bool) {
	present, ok := w.State.In(Present)
	switch {
	case !ok || !w.HasListener && !present.Signs:
		// Nobody trusts anything yet, or the listener has nothing to show.
		return time.Time{}, true
	case a.Trusted.IsZero():
		return time.Time{}, false
	case present.Expired(w.Now) || w.Server.Signer == "" || w.Server.Useless && !present.Signs || !w.Now.Before(w.Server.NotAfter):
		// Nobody can connect now.
		return time.Time{}, true
	default:
		return a.Trusted.Add(r.Grace), true
	}
}

func promote(w Facts, r Rules) (Decision, bool) {
	a, ok := candidate(w, r)
	if !ok {
		return Decision{}, false
	}
	at, may := mayPromoteAt(w, r, a)
	return Decision{Kind: Promote, Fingerprint: a.Fingerprint}, may && !w.Now.Before(at)
}

// serve decides to give the listener a certificate of the present authority.
func serve(w Facts, r Rules) (Decision, bool) {
	present, ok := w.State.In(Present)
	if !ok {
		return Decision{}, false
	}
	if r.Own {
		can := present.Signs && !present.Expired(w.Now)
		stale := w.Server.Mismatched || !w.Now.Before(w.Server.Renewal) || w.Server.Signer != present.Fingerprint
		return Decision{Kind: Serve}, can && (!w.HasListener || stale)
	}
	can := w.Offered.Signer == present.Fingerprint
	stale := w.Offered.Serial != w.Server.Serial || w.Server.Signer != present.Fingerprint
	return Decision{Kind: Serve}, can && (!w.HasListener || stale)
}

// begin decides to create the next authority if the present one has to be replaced.
func begin(w Facts, r Rules) (Decision, bool) {
	present, ok := w.State.In(Present)
	if _, begun := w.State.In(Next); !r.Own || !ok || begun {
		return Decision{}, false
	}
	due := !w.Now.Before(present.NotAfter.Add(-r.RenewBefore))
	return Decision{Kind: Create, Phase: Next}, due || w.Asked
}

// retires reports whether an authority is dropped after nobody uses it.
func retires(a Authority, w Facts, r Rules) bool {
	return a.Phase == Former || !r.Own && a.Phase == Next && w.Offered.Signer != a.Fingerprint
}

// dropAt returns when an unused authority is dropped. An agent may first have to receive the bundle with the
// authority of its new certificate, and keeps its old certificate meanwhile.
func (a Authority) dropAt(r Rules) time.Time { return a.Unused.Add(2 * r.Grace) }

// retire decides to drop authorities that nobody uses anymore.
func retire(w Facts, r Rules) (Decision, bool) {
	if !w.Counted {
		return Decision{}, false
	}
	for _, a := range w.State {
		used := w.Agents[a.Fingerprint] > 0 || w.Agents[""] > 0 || w.Server.Signer == a.Fingerprint || !retires(a, w, r)
		switch {
		case used && !a.Unused.IsZero():
			return Decision{Kind: Reuse, Fingerprint: a.Fingerprint}, true
		case !used && a.Unused.IsZero():
			return Decision{Kind: Unuse, Fingerprint: a.Fingerprint}, true
		case !used && !w.Now.Before(a.dropAt(r)):
			return Decision{Kind: Drop, Fingerprint: a.Fingerprint}, true
		}
	}
	return Decision{}, false
}

// nextTime returns the earliest time at which Decide may decide differently although no other fact has changed.
func nextTime(w Facts, r Rules) time.Time {
	var next time.Time
	note := func(at time.Time) {
		if at.After(w.Now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	if a, ok := candidate(w, r); ok {
		if at, may := mayPromoteAt(w, r, a); may {
			note(at)
		}
	}
	for _, a := range w.State {
		note(a.NotAfter)
		if !a.Unused.IsZero() {
			note(a.dropAt(r))
		}
		if r.Own && a.Phase == Present {
			note(a.NotAfter.Add(-r.RenewBefore))
		}
	}
	note(w.Server.Renewal)
	note(w.Server.NotAfter)
	return next
}

// Apply returns the state after a decision was carried out. made is the created authority.
func Apply(s State, d Decision, made Authority, now time.Time) State {
	now = now.UTC().Truncate(time.Second)
	after := slices.Clone(s)
	for i := range after {
		a := &after[i]
		if a.Fingerprint != d.Fingerprint {
			if d.Kind == Promote && a.Phase == Present {
				a.Phase, a.Since, a.Unused = Former, now, time.Time{}
			}
			continue
		}
		switch d.Kind {
		case Record:
			a.Trusted = now
		case Unuse:
			a.Unused = now
		case Reuse:
			a.Unused = time.Time{}
		case Promote:
			a.Phase, a.Since, a.Unused = Present, now, time.Time{}
		default:
		}
	}
	switch d.Kind {
	case Create:
		made.Phase, made.Since = d.Phase, now
		after = append(after, made)
	case Drop:
		after = slices.DeleteFunc(after, func(a Authority) bool { return a.Fingerprint == d.Fingerprint })
	default:
	}
	return after
}
