// Package rotation decides, without touching anything, what is to be done next so that certificates of agents and listener
// can change their authority without either refusing the other: Decide, over the Facts that were read, and Apply.
//
// An authority goes through phases. Next: the listener and the bundles of agents trust it, and nobody has a certificate of
// it. Present, after the grace period: it signs, and the listener shows a certificate of it. Former: it is trusted until no
// agent has had a certificate of it for two grace periods, or until it expires.
package rotation

import (
	"slices"
	"time"

	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// Phase is that of an authority.
type Phase string

// Phases of an authority.
const (
	Next    Phase = "next"
	Present Phase = "present"
	Former  Phase = "former"
)

// Authority is what is known of one. Its certificate and private key are kept elsewhere.
type Authority struct {
	// Fingerprint identifies it.
	Fingerprint string `json:"fingerprint"`
	Phase       Phase  `json:"phase"`
	// Since is when that phase began.
	Since    time.Time `json:"since"`
	NotAfter time.Time `json:"notAfter"`
	// Trusted is since when the listener is known to trust it; zero where it is not.
	Trusted time.Time `json:"trusted,omitzero"`
	// Unused is since when no agent is known to have a certificate of it; zero where one has, or where nobody counted.
	Unused time.Time `json:"unused,omitzero"`
	// Signs is true where its private key is ours.
	Signs bool `json:"signs,omitempty"`
}

// Expired tells whether the authority is not valid any more.
func (a Authority) Expired(now time.Time) bool { return !now.Before(a.NotAfter) }

// State is all authorities that are trusted.
type State []Authority

// Of is the authority with this fingerprint.
func (s State) Of(fingerprint string) (Authority, bool) {
	return lists.Find(s, func(a Authority) bool { return a.Fingerprint == fingerprint })
}

// In is the first authority in this phase.
func (s State) In(phase Phase) (Authority, bool) {
	return lists.Find(s, func(a Authority) bool { return a.Phase == phase })
}

// Accepts tells whether the listener accepts certificates of an authority, if it takes so long at most to read whom it trusts.
// It accepts those of the present one.
func (s State) Accepts(fingerprint string, now time.Time, reload time.Duration) bool {
	a, has := s.Of(fingerprint)
	return has && !a.Trusted.IsZero() && (a.Phase == Present || !now.Before(a.Trusted.Add(reload)))
}

// Signer is the authority that signs for agents: the present one, or where its private key is not ours, the next one as soon
// as the listener accepts it. It is false where none can yet.
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

// fingerprints are those of all authorities, sorted.
func (s State) fingerprints() []string {
	all := lists.Map(s, func(a Authority) string { return a.Fingerprint })
	slices.Sort(all)
	return all
}

// Server is a server certificate of the listener.
type Server struct {
	// Signer is the fingerprint of its authority; empty where there is no certificate, or none that can be shown.
	Signer   string
	Serial   string
	NotAfter time.Time
	// Renewal is when it is to be renewed.
	Renewal time.Time
	// Mismatched is true where it is not for the names that the listener has.
	Mismatched bool
	// Useless is true where it is for none of them.
	Useless bool
}

// Facts is what was read.
type Facts struct {
	Now   time.Time
	State State
	// HasListener is whether the listener's Secret exists; Trusted is whom it trusts, by fingerprint, and Server what it has.
	HasListener bool
	Trusted     []string
	Server      Server
	// Offered is the certificate that an issuer of somebody else's has made for the listener.
	Offered Server
	// Counted is whether agents were counted. Agents is how many have a certificate of an authority, by fingerprint; empty
	// for those of which it is not known.
	Counted bool
	Agents  map[string]int
	// Asked is whether somebody asks for another authority.
	Asked bool
}

// Rules are the settings.
type Rules struct {
	// Own is whether authorities are ours.
	Own bool
	// Grace is how long agents take at most to receive a bundle, and after that a certificate of an authority in it.
	Grace time.Duration
	// RenewBefore is how long before an authority of ours expires the next one is made.
	RenewBefore time.Duration
}

// Kind is that of a Step.
type Kind string

// Kinds of steps. Each is one write.
const (
	// Wait: nothing is to be done before Decision.At.
	Wait Kind = "wait"
	// Create makes an authority of ours, in phase Decision.Phase.
	Create Kind = "create"
	// Publish writes into the listener's Secret whom it trusts.
	Publish Kind = "publish"
	// Serve writes the listener's certificate, and whom it trusts.
	Serve Kind = "serve"
	// Record notes since when the listener trusts an authority, Unuse since when no agent uses it, and Reuse that one does.
	Record Kind = "record"
	Unuse  Kind = "unuse"
	Reuse  Kind = "reuse"
	// Promote makes an authority the present one, and Drop stops trusting it.
	Promote Kind = "promote"
	Drop    Kind = "drop"
)

// Decision is what to do next.
type Decision struct {
	Kind        Kind
	Fingerprint string
	Phase       Phase
	// At is when to decide again at the latest, where the Kind is Wait; zero where nothing is to come.
	At time.Time
}

// Decide decides what to do next. Done again and again, with what each changed, it ends with Wait.
func Decide(w Facts, r Rules) Decision {
	for _, decide := range []func(Facts, Rules) (Decision, bool){create, publish, promote, serve, begin, retire} {
		if d, decided := decide(w, r); decided {
			return d
		}
	}
	return Decision{Kind: Wait, At: nextTime(w, r)}
}

// create makes the first authority, or another one where none that is left can sign, and drops what has expired.
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

// publish makes the listener trust whom it should, and records that it does.
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

// candidate is the authority that is to become the present one.
func candidate(w Facts, r Rules) (Authority, bool) {
	if !r.Own {
		a, known := w.State.Of(w.Offered.Signer)
		return a, known && a.Phase != Present
	}
	return lists.Find(w.State, func(a Authority) bool { return a.Phase == Next && a.Signs })
}

// mayPromoteAt is from when on a candidate may become the present one; zero is at once.
func mayPromoteAt(w Facts, r Rules, a Authority) (time.Time, bool) {
	present, ok := w.State.In(Present)
	switch {
	case !ok || !w.HasListener && !present.Signs:
		// Nobody trusts anything, or there is nothing to show before.
		return time.Time{}, true
	case a.Trusted.IsZero():
		return time.Time{}, false
	case present.Expired(w.Now) || w.Server.Signer == "" || w.Server.Useless && !present.Signs || !w.Now.Before(w.Server.NotAfter):
		// Nobody can connect as it is.
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

// serve gives the listener a certificate of the present authority.
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

// begin makes the next authority where the present one is to be replaced.
func begin(w Facts, r Rules) (Decision, bool) {
	present, ok := w.State.In(Present)
	if _, begun := w.State.In(Next); !r.Own || !ok || begun {
		return Decision{}, false
	}
	due := !w.Now.Before(present.NotAfter.Add(-r.RenewBefore))
	return Decision{Kind: Create, Phase: Next}, due || w.Asked
}

// retires tells whether an authority is dropped once nobody uses it.
func retires(a Authority, w Facts, r Rules) bool {
	return a.Phase == Former || !r.Own && a.Phase == Next && w.Offered.Signer != a.Fingerprint
}

// dropAt is when an authority that nobody uses is dropped: an agent may first have to receive the bundle with the authority
// of its certificate, and keeps the certificate before until then.
func (a Authority) dropAt(r Rules) time.Time { return a.Unused.Add(2 * r.Grace) }

// retire drops what nobody uses any more.
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

// nextTime is the earliest time at which Decide may decide otherwise though nothing else has changed.
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

// Apply is the state after a decision was carried out. made is the authority that was created.
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
