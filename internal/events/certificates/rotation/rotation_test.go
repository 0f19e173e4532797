package rotation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

const (
	hour = time.Hour
	day  = 24 * time.Hour
)

var own = Rules{Own: true, Grace: day, RenewBefore: 92 * day}
var others = Rules{Grace: day}

func authority(fingerprint string, phase Phase, edits ...func(*Authority)) Authority {
	a := Authority{Fingerprint: fingerprint, Phase: phase, Since: noon.Add(-30 * day), NotAfter: noon.Add(300 * day), Trusted: noon.Add(-30 * day), Signs: true}
	for _, edit := range edits {
		edit(&a)
	}
	return a
}

func trustedSince(at time.Time) func(*Authority) { return func(a *Authority) { a.Trusted = at } }
func unusedSince(at time.Time) func(*Authority)  { return func(a *Authority) { a.Unused = at } }
func expires(at time.Time) func(*Authority)      { return func(a *Authority) { a.NotAfter = at } }
func withoutKey(a *Authority)                    { a.Signs = false }

// factsOf returns facts for which nothing has to be done, apart from the edits.
func factsOf(state State, edits ...func(*Facts)) Facts {
	w := Facts{Now: noon, State: state, HasListener: true, Trusted: state.fingerprints(), Counted: true, Agents: map[string]int{}}
	if present, ok := state.In(Present); ok {
		w.Server = Server{Signer: present.Fingerprint, Serial: "1", NotAfter: noon.Add(80 * day), Renewal: noon.Add(50 * day)}
		w.Agents[present.Fingerprint] = 3
	}
	for _, edit := range edits {
		edit(&w)
	}
	return w
}

func TestEachStepFollowsFromTheFacts(t *testing.T) {
	present, next, former := authority("p", Present), authority("n", Next), authority("f", Former)
	justTrusted := authority("n", Next, trustedSince(noon.Add(-hour)))
	for name, c := range map[string]struct {
		factsOf Facts
		rules   Rules
		want    Decision
	}{
		"nothing exists":                                           {Facts{Now: noon}, own, Decision{Kind: Create, Phase: Present}},
		"another issuer has not signed":                            {Facts{Now: noon}, others, Decision{Kind: Wait}},
		"the first authority":                                      {Facts{Now: noon, State: State{present}}, own, Decision{Kind: Serve}},
		"everything is as desired":                                 {factsOf(State{present}), own, Decision{Kind: Wait, At: noon.Add(50 * day)}},
		"the listener trusts too few":                              {factsOf(State{present}, func(w *Facts) { w.Trusted = nil }), own, Decision{Kind: Publish}},
		"the listener trusts too many":                             {factsOf(State{present}, func(w *Facts) { w.Trusted = []string{"p", "x"} }), own, Decision{Kind: Publish}},
		"the listener has just begun to trust it":                  {factsOf(State{authority("p", Present, trustedSince(time.Time{}))}), own, Decision{Kind: Record, Fingerprint: "p"}},
		"the authority has to be replaced":                         {factsOf(State{authority("p", Present, expires(noon.Add(92*day)))}), own, Decision{Kind: Create, Phase: Next}},
		"an operator asks":                                         {factsOf(State{present}, func(w *Facts) { w.Asked = true }), own, Decision{Kind: Create, Phase: Next}},
		"an operator asks during a rotation":                       {factsOf(State{present, justTrusted}, func(w *Facts) { w.Asked = true }), own, Decision{Kind: Wait, At: noon.Add(23 * hour)}},
		"the grace period is not over":                             {factsOf(State{present, justTrusted}), own, Decision{Kind: Wait, At: noon.Add(23 * hour)}},
		"the grace period is over":                                 {factsOf(State{present, next}), own, Decision{Kind: Promote, Fingerprint: "n"}},
		"the present one has expired":                              {factsOf(State{authority("p", Present, expires(noon)), justTrusted}), own, Decision{Kind: Promote, Fingerprint: "n"}},
		"the listener's certificate has expired":                   {factsOf(State{present, justTrusted}, func(w *Facts) { w.Server.NotAfter = noon }), own, Decision{Kind: Promote, Fingerprint: "n"}},
		"the listener was deleted meanwhile":                       {factsOf(State{present, justTrusted}, func(w *Facts) { w.HasListener = false }), own, Decision{Kind: Serve}},
		"the listener has a certificate of the former authority":   {factsOf(State{former, present}, func(w *Facts) { w.Server.Signer = "f" }), own, Decision{Kind: Serve}},
		"the listener has other names":                             {factsOf(State{present}, func(w *Facts) { w.Server.Mismatched = true }), own, Decision{Kind: Serve}},
		"the listener's certificate has to be renewed":             {factsOf(State{present}, func(w *Facts) { w.Server.Renewal = noon }), own, Decision{Kind: Serve}},
		"nobody can use what the listener has":                     {factsOf(State{authority("p", Present, withoutKey), justTrusted}, func(w *Facts) { w.Server.Useless = true }), own, Decision{Kind: Promote, Fingerprint: "n"}},
		"only somebody else's is trusted":                          {factsOf(State{authority("p", Present, withoutKey)}), own, Decision{Kind: Create, Phase: Next}},
		"an agent still has a certificate of the former authority": {factsOf(State{former, present}, func(w *Facts) { w.Agents["f"] = 1 }), own, Decision{Kind: Wait, At: noon.Add(50 * day)}},
		"the authority of one agent is unknown":                    {factsOf(State{former, present}, func(w *Facts) { w.Agents[""] = 1 }), own, Decision{Kind: Wait, At: noon.Add(50 * day)}},
		"no agent has a certificate of the former authority":       {factsOf(State{former, present}), own, Decision{Kind: Unuse, Fingerprint: "f"}},
		"the agents were not counted":                              {factsOf(State{former, present}, func(w *Facts) { w.Counted = false }), own, Decision{Kind: Wait, At: noon.Add(50 * day)}},
		"an agent has a certificate of it again":                   {factsOf(State{authority("f", Former, unusedSince(noon.Add(-hour))), present}, func(w *Facts) { w.Agents["f"] = 1 }), own, Decision{Kind: Reuse, Fingerprint: "f"}},
		"unused, not long enough":                                  {factsOf(State{authority("f", Former, unusedSince(noon.Add(-47*hour))), present}), own, Decision{Kind: Wait, At: noon.Add(hour)}},
		"unused for two grace periods":                             {factsOf(State{authority("f", Former, unusedSince(noon.Add(-48*hour))), present}), own, Decision{Kind: Drop, Fingerprint: "f"}},
		"a former one has expired":                                 {factsOf(State{authority("f", Former, expires(noon)), present}, func(w *Facts) { w.Agents["f"] = 1 }), own, Decision{Kind: Drop, Fingerprint: "f"}},
		"another issuer's first":                                   {factsOf(State{next}, func(w *Facts) { w.HasListener, w.Offered.Signer = false, "n" }), others, Decision{Kind: Promote, Fingerprint: "n"}},
		"another issuer's is trusted":                              {factsOf(State{present, next}, func(w *Facts) { w.Offered = Server{Signer: "n", Serial: "2"} }), others, Decision{Kind: Promote, Fingerprint: "n"}},
		"another issuer's is not trusted for long":                 {factsOf(State{present, justTrusted}, func(w *Facts) { w.Offered = Server{Signer: "n", Serial: "2"} }), others, Decision{Kind: Wait, At: noon.Add(23 * hour)}},
		"another issuer renewed":                                   {factsOf(State{present}, func(w *Facts) { w.Offered = Server{Signer: "p", Serial: "2"} }), others, Decision{Kind: Serve}},
		"another issuer signs agents only":                         {factsOf(State{present, next}, func(w *Facts) { w.Offered, w.Agents["n"] = w.Server, 1 }), others, Decision{Kind: Wait, At: noon.Add(50 * day)}},
		"another issuer went back":                                 {factsOf(State{former, present}, func(w *Facts) { w.Offered = Server{Signer: "f", Serial: "2"} }), others, Decision{Kind: Promote, Fingerprint: "f"}},
		"another issuer gave one up at once":                       {factsOf(State{present, next}, func(w *Facts) { w.Offered = w.Server }), others, Decision{Kind: Unuse, Fingerprint: "n"}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, Decide(c.factsOf, c.rules))
		})
	}
}

func TestApplyCarriesOutADecision(t *testing.T) {
	state := State{authority("p", Present), authority("n", Next)}
	promoted := Apply(state, Decision{Kind: Promote, Fingerprint: "n"}, Authority{}, noon)
	require.Equal(t, Former, promoted[0].Phase)
	require.Equal(t, Present, promoted[1].Phase)
	require.Equal(t, noon, promoted[1].Since)
	require.Equal(t, Present, state[0].Phase, "the original state is unchanged")

	dropped := Apply(promoted, Decision{Kind: Drop, Fingerprint: "p"}, Authority{}, noon)
	require.Len(t, dropped, 1)
	created := Apply(dropped, Decision{Kind: Create, Phase: Next}, Authority{Fingerprint: "x"}, noon)
	require.Equal(t, Authority{Fingerprint: "x", Phase: Next, Since: noon}, created[1])
	recorded := Apply(created, Decision{Kind: Record, Fingerprint: "x"}, Authority{}, noon)
	require.Equal(t, noon, recorded[1].Trusted)
}

func TestTheSignerIsAnAuthorityThatTheListenerAccepts(t *testing.T) {
	signs := func(s State) string {
		a, can := s.Signer(noon, hour)
		require.Equal(t, can, a.Fingerprint != "")
		return a.Fingerprint
	}
	require.Equal(t, "p", signs(State{authority("n", Next), authority("p", Present)}))
	require.Equal(t, "n", signs(State{authority("n", Next), authority("p", Present, withoutKey)}))
	require.Empty(t, signs(State{authority("n", Next, trustedSince(noon.Add(-time.Minute))), authority("p", Present, withoutKey)}), "a listener may not have read it yet")
	require.Empty(t, signs(State{authority("p", Present, trustedSince(time.Time{}))}))
	require.Equal(t, "p", signs(State{authority("p", Present, trustedSince(noon)), authority("n", Next)}), "the first one")
	require.Empty(t, signs(State{authority("p", Present, expires(noon))}))
	require.Empty(t, signs(State{authority("f", Former)}))
}

func TestLateStepsAreFound(t *testing.T) {
	tolerance := Tolerance{Buffer: day, Renewal: 2 * day}
	late := func(r Rules, w Facts) []Late { return FindLate(w, r, tolerance) }
	present := authority("p", Present)
	require.Empty(t, late(own, factsOf(State{present, authority("n", Next, trustedSince(noon.Add(-47*hour))), authority("f", Former, unusedSince(noon))})))
	require.Equal(t, []Late{{NotTrusted, "n"}}, late(own, factsOf(State{present, authority("n", Next, trustedSince(time.Time{}))})))
	require.Equal(t, []Late{{NotPromoted, "n"}}, late(own, factsOf(State{present, authority("n", Next, trustedSince(noon.Add(-49*hour)))})))
	require.Equal(t, []Late{{NotRetired, "f"}}, late(own, factsOf(State{present, authority("f", Former)})))
	require.Equal(t, []Late{{NotReplaced, "p"}}, late(own, factsOf(State{authority("p", Present, expires(noon.Add(80*day)))})))
	require.Equal(t, []Late{{NotReplaced, "p"}}, late(others, factsOf(State{authority("p", Present, expires(noon.Add(hour)))})))
	require.Empty(t, late(others, factsOf(State{authority("p", Present, expires(noon.Add(80*day)))})), "the other issuer decides when to replace it")
	require.Equal(t, []Late{{NotServed, "p"}}, late(own, factsOf(State{present}, func(w *Facts) { w.Server.Renewal = noon.Add(-49 * hour) })))
	require.Equal(t, []Late{{NotServed, ""}}, late(own, factsOf(State{present}, func(w *Facts) { w.Server = Server{} })))
}
