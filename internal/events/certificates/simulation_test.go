package certificates

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/internal/events/certificates/pki"
	"github.com/kyma-project/lifecycle-manager/internal/events/certificates/rotation"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/test/harness/certmanager"
)

// fleet simulates some agents and the listener over weeks. An agent may still use any bundle and any certificate that
// it was given within half of the grace period. The other half is for a process that dies.
type fleet struct {
	*control
	of     Management
	signer *certmanager.StandIn
	agents map[string]*agentOf
	// listeners are the present listener, and one that has not read its Secret since the last tick.
	listeners                 []shown
	checked                   map[string]bool
	handshakes, ticks, deaths int
}

type agentOf struct {
	certificates, bundles []given
}

// given is something that an agent was given, with the time until which the agent may still use it.
type given struct {
	shown
	version string
	until   time.Time
}

// may reports whether the agent may use it at a time.
func (g given) may(now time.Time) bool { return g.until.IsZero() || g.until.After(now) }

func newFleet(c *control, of Management, kymas ...string) *fleet {
	f := &fleet{control: c, of: of, agents: map[string]*agentOf{}, checked: map[string]bool{}}
	kinds := map[Management]schema.GroupVersionKind{CertManagerManaged: certmanager.CertManager, GardenerManaged: certmanager.Gardener}
	if kind, external := kinds[of]; external {
		f.signer = certmanager.New(c, "istio-system", kind)
		f.signer.Now = func() time.Time { return c.now }
	}
	for _, kyma := range kymas {
		f.agents[kyma] = &agentOf{}
	}
	return f
}

// tick lets every participant do its regular work once, each in a new process, and then connects all of them.
func (f *fleet) tick() {
	f.t.Helper()
	f.ticks++
	f.listeners = f.listeners[:min(len(f.listeners), 1)]
	if f.signer != nil {
		if err := f.signer.Reconcile(f.t.Context()); !errors.Is(err, errDied) {
			require.NoError(f.t, err)
		}
	}
	if _, err := f.rotate(f.of); !errors.Is(err, errDied) {
		require.NoError(f.t, err)
	} else {
		f.deaths++
	}
	f.connectAll()
	for kyma, agent := range f.agents {
		issued, err := f.issuer(f.of).Ensure(f.t.Context(), requestOf(kyma))
		switch {
		case errors.Is(err, errDied):
			f.deaths++
			continue
		case fault.Of(err).Kind == fault.Pending:
			continue
		}
		require.NoError(f.t, err)
		agent.give(f.now, issued)
		f.connectAll()
	}
	f.connectAll()
}

func pairIn(issued Issued) pki.Pair {
	return pki.Pair{Certificate: issued.Certificate, PrivateKey: issued.PrivateKey}
}

// give gives an agent the issued certificate, as a synchronization does. The agent gets a new certificate only after
// no bundle with which its API server would refuse it is left in the cluster.
func (a *agentOf) give(now time.Time, issued Issued) {
	a.bundles = give(a.bundles, now, given{shown: shown{authorities: issued.Authorities}, version: string(issued.Authorities)})
	for _, each := range a.bundles {
		if len(a.certificates) > 0 && each.may(now) && called(pairIn(issued), each.authorities, now) != nil {
			return
		}
	}
	a.certificates = give(a.certificates, now, given{shown: shown{pair: pairIn(issued)}, version: string(issued.Certificate)})
}

// give adds a new item, and removes items that were replaced long enough ago.
func give(all []given, now time.Time, another given) []given {
	var kept []given
	for i, each := range all {
		if i == len(all)-1 {
			if each.version == another.version {
				return append(kept, each)
			}
			each.until = now.Add(day / 2)
		}
		if each.may(now) {
			kept = append(kept, each)
		}
	}
	return append(kept, another)
}

// connectAll connects every agent, with everything that it may use, to every listener, and has the agent's API server
// call it.
func (f *fleet) connectAll() {
	f.t.Helper()
	listener := &f.listeners
	if secrets := f.secretOrNil(DefaultListenerSecret); secrets {
		present := f.listener()
		if len(*listener) == 0 || string((*listener)[0].pair.Certificate)+string((*listener)[0].authorities) != string(present.pair.Certificate)+string(present.authorities) {
			*listener = append([]shown{present}, *listener...)
		}
		*listener = (*listener)[:min(len(*listener), 2)]
	}
	for kyma, agent := range f.agents {
		for _, certificate := range agent.certificates {
			for _, bundle := range agent.bundles {
				for _, l := range *listener {
					if certificate.may(f.now) && bundle.may(f.now) {
						f.check(kyma, certificate, bundle, l)
					}
				}
			}
		}
	}
}

func (f *fleet) secretOrNil(name string) bool {
	secret, err := f.options(f.of).getSecret(f.t.Context(), name)
	require.NoError(f.t, err)
	return secret != nil
}

func (f *fleet) check(kyma string, certificate, bundle given, listener shown) {
	f.t.Helper()
	// Between two checks of the same items, only the time changes.
	key := fmt.Sprint(kyma, certificate.version, bundle.version, string(listener.pair.Certificate), string(listener.authorities), f.now.Truncate(2*day))
	if f.checked[key] {
		return
	}
	f.checked[key] = true
	f.handshakes++
	agent := shown{pair: certificate.pair, authorities: bundle.authorities}
	require.NoError(f.t, connect(agent, listener, f.now), "agent of %s and listener on %s", kyma, f.now)
	require.NoError(f.t, called(certificate.pair, bundle.authorities, f.now), "API server and agent of %s on %s", kyma, f.now)
}

// run advances the time.
func (f *fleet) run(until, step time.Duration) {
	f.t.Helper()
	for end := f.now.Add(until); f.now.Before(end); f.now = f.now.Add(step) {
		f.tick()
	}
}

func (f *fleet) state() rotation.State {
	f.t.Helper()
	r, err := decode(f.secret(AuthoritySecret))
	require.NoError(f.t, err)
	return r.State
}

func TestAgentsAndListenerAcceptEachOtherAtEveryMomentOverYearsOfOurAuthorities(t *testing.T) {
	f := newFleet(newControl(t), SelfManaged, "a", "b", "c")
	f.tick()
	first := f.state()[0].Fingerprint
	seen := map[string]bool{}
	for range 12 {
		f.run(5*day, 6*time.Hour)
		for _, a := range f.state() {
			seen[a.Fingerprint] = true
		}
	}
	require.GreaterOrEqual(t, len(seen), 4, "authorities were replaced")
	_, has := f.state().Of(first)
	require.False(t, has, "the first one is forgotten")
	require.Greater(t, f.handshakes, 100)
	t.Logf("%d authorities, %d handshakes", len(seen), f.handshakes)
}

func TestAgentsAndListenerAcceptEachOtherWhileAnotherIssuersAuthorityChanges(t *testing.T) {
	for _, of := range []Management{CertManagerManaged, GardenerManaged} {
		t.Run(string(of), func(t *testing.T) {
			f := newFleet(newControl(t), of, "a", "b")
			f.run(4*day, 6*time.Hour)
			first := f.state()[0].Fingerprint
			f.signer.Rotate(t)
			f.run(20*day, 6*time.Hour)
			state := f.state()
			require.Len(t, state, 1, "%v", state)
			require.Equal(t, rotation.Present, state[0].Phase)
			require.NotEqual(t, first, state[0].Fingerprint)
			require.Greater(t, f.handshakes, 10)
			for kyma := range f.agents {
				require.Equal(t, state[0].Fingerprint, f.secret(AgentCertificate(kyma)).Annotations[AnnotationSigner])
			}
		})
	}
}

// The process dies before or right after each of its writes while the authority changes, and another process
// continues.
func TestADeathAtAnyWriteLosesNothing(t *testing.T) {
	for _, of := range []Management{SelfManaged, CertManagerManaged} {
		for _, written := range []bool{false, true} {
			t.Run(fmt.Sprint(of, " written ", written), func(t *testing.T) {
				t.Parallel()
				deaths := 0
				for at := 1; ; at++ {
					f := newFleet(newControl(t), of, "a")
					f.diesAt, f.written = at, written
					f.run(day, 6*time.Hour)
					first := f.state()[0].Fingerprint
					if of == SelfManaged {
						f.askUnlessDying()
					} else {
						f.signer.Rotate(t)
					}
					for range 32 {
						f.run(6*time.Hour, 6*time.Hour)
						if state := f.state(); len(state) == 1 && state[0].Fingerprint != first {
							break
						}
					}
					state := f.state()
					require.Len(t, state, 1, "death at write %d: %v", at, state)
					require.NotEqual(t, first, state[0].Fingerprint, "death at write %d", at)
					if f.writes < at {
						break
					}
					deaths++
				}
				require.Greater(t, deaths, 12)
				t.Logf("%d deaths", deaths)
			})
		}
	}
}

// askUnlessDying requests another authority. An operator would try again after a failure.
func (f *fleet) askUnlessDying() {
	f.t.Helper()
	for range 2 {
		secret := f.secret(AuthoritySecret)
		secret.Annotations = map[string]string{AnnotationRotate: "now"}
		if err := f.Update(f.t.Context(), secret); !errors.Is(err, errDied) {
			require.NoError(f.t, err)
		}
	}
}

func TestReportsContainNoPrivateKey(t *testing.T) {
	f := newFleet(newControl(t), SelfManaged, "a")
	f.tick()
	f.ask()
	result := f.rotated(SelfManaged)
	text, err := json.Marshal(result)
	require.NoError(t, err)
	issued, err := f.issuer(SelfManaged).Ensure(t.Context(), requestOf("a"))
	require.NoError(t, err)
	noPrivateKeys(t, string(text), fmt.Sprintf("%v %+v %#v %s", issued, issued, issued, issued))
	require.Len(t, result.Authorities, 2)
	require.Equal(t, 1, result.Authorities[0].Agents)
	require.NotEmpty(t, result.Done)
}
