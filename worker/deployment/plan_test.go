package deployment

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhoGetsTheWork(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	used := func(build string) Version { return Version{BuildID: build, Activated: now.Add(-time.Hour)} }
	fresh := func(build string) Version { return Version{BuildID: build} }
	ramp := Ramp{Percent: 10, Duration: 10 * time.Minute}
	const nobody = "nobody"
	for name, tc := range map[string]struct {
		state State
		own   string
		ramp  Ramp
		// current is the version that becomes current, ramping the version that gets a share.
		current, ramping string
	}{
		"without versioning nothing happens": {State{}, Unversioned, Ramp{}, nobody, nobody},
		"a build whose workers have not polled yet waits": {
			State{Exists: true, Pollers: map[string]Pollers{Unversioned: EveryQueue}}, "n", Ramp{}, nobody, nobody,
		},
		"a build that polls only some queues waits": {
			State{Exists: true, Versions: []Version{fresh("n")}, Pollers: map[string]Pollers{Unversioned: EveryQueue, "n": SomeQueues}}, "n", Ramp{}, nobody, nobody,
		},
		"the first version takes over from workers that are not versioned": {
			State{Exists: true, Versions: []Version{fresh("n")}, Pollers: map[string]Pollers{Unversioned: EveryQueue, "n": EveryQueue}}, "n", Ramp{}, "n", nobody,
		},
		"the first version takes over if there are no other workers": {
			State{Exists: true, Versions: []Version{fresh("n")}, Pollers: map[string]Pollers{"n": EveryQueue}}, "n", Ramp{}, "n", nobody,
		},
		"a new build takes over": {
			State{Exists: true, Current: "o", Versions: []Version{fresh("n"), used("o")}, Pollers: map[string]Pollers{"o": EveryQueue, "n": EveryQueue}}, "n", Ramp{}, "n", nobody,
		},
		"the leader of the former build leaves the new one alone": {
			State{Exists: true, Current: "n", Versions: []Version{used("n"), used("o")}, Pollers: map[string]Pollers{"o": EveryQueue, "n": EveryQueue}}, "o", Ramp{}, nobody, nobody,
		},
		"the current version stays": {
			State{Exists: true, Current: "n", Versions: []Version{used("n")}, Pollers: map[string]Pollers{"n": SomeQueues}}, "n", Ramp{}, nobody, nobody,
		},
		"a build that was taken back does not become current again": {
			State{Exists: true, Current: "o", Versions: []Version{used("n"), used("o")}, Pollers: map[string]Pollers{"o": SomeQueues, "n": EveryQueue}}, "n", Ramp{}, nobody, nobody,
		},
		"a build that was taken back becomes current if no other workers are left": {
			State{Exists: true, Current: "o", Versions: []Version{used("n"), used("o")}, Pollers: map[string]Pollers{"n": EveryQueue}}, "n", Ramp{}, "n", nobody,
		},
		"an earlier build that is installed again takes over when the newer workers are gone": {
			State{Exists: true, Current: "n", Versions: []Version{used("n"), used("o")}, Pollers: map[string]Pollers{"o": EveryQueue}}, "o", Ramp{}, "o", nobody,
		},
		"another build takes over if neither the current nor this build has workers": {
			State{Exists: true, Current: "o", Versions: []Version{fresh("n"), used("o")}, Pollers: map[string]Pollers{"n": EveryQueue, "w": SomeQueues}}, "o2", Ramp{}, "n", nobody,
		},
		"no build takes over if none polls every queue": {
			State{Exists: true, Current: "o", Versions: []Version{fresh("n"), used("o")}, Pollers: map[string]Pollers{"n": SomeQueues}}, "n", Ramp{}, nobody, nobody,
		},
		"unversioned workers take over when the versioned workers are gone": {
			State{Exists: true, Current: "o", Versions: []Version{used("o")}, Pollers: map[string]Pollers{Unversioned: EveryQueue}}, Unversioned, Ramp{}, Unversioned, nobody,
		},
		"unversioned workers do not take over earlier": {
			State{Exists: true, Current: "o", Versions: []Version{used("o")}, Pollers: map[string]Pollers{Unversioned: EveryQueue, "o": SomeQueues}}, Unversioned, Ramp{}, nobody, nobody,
		},
		"a new build begins with a share": {
			State{Exists: true, Current: "o", Versions: []Version{fresh("n"), used("o")}, Pollers: map[string]Pollers{"o": EveryQueue, "n": EveryQueue}}, "n", ramp, nobody, "n",
		},
		"a new build gets everything if no other workers are left": {
			State{Exists: true, Current: "o", Versions: []Version{fresh("n"), used("o")}, Pollers: map[string]Pollers{"n": EveryQueue}}, "n", ramp, "n", nobody,
		},
		"a ramp keeps its share for its duration": {
			State{Exists: true, Current: "o", Ramping: &Ramping{"n", 10, now.Add(-9 * time.Minute)}, Versions: []Version{used("n"), used("o")}, Pollers: map[string]Pollers{"o": EveryQueue, "n": EveryQueue}}, "n", ramp, nobody, nobody,
		},
		"after its ramp a build gets everything": {
			State{Exists: true, Current: "o", Ramping: &Ramping{"n", 10, now.Add(-10 * time.Minute)}, Versions: []Version{used("n"), used("o")}, Pollers: map[string]Pollers{"o": EveryQueue, "n": EveryQueue}}, "n", ramp, "n", nobody,
		},
		"a share that an operator set stays": {
			State{Exists: true, Current: "o", Ramping: &Ramping{"n", 50, now.Add(-time.Hour)}, Versions: []Version{used("n"), used("o")}, Pollers: map[string]Pollers{"o": EveryQueue, "n": EveryQueue}}, "n", ramp, nobody, nobody,
		},
		"a ramp that an operator ended stays ended": {
			State{Exists: true, Current: "o", Ramping: &Ramping{"n", 0, now.Add(-time.Hour)}, Versions: []Version{used("n"), used("o")}, Pollers: map[string]Pollers{"o": EveryQueue, "n": EveryQueue}}, "n", ramp, nobody, nobody,
		},
	} {
		t.Run(name, func(t *testing.T) {
			step := Next(tc.state, tc.own, tc.ramp, now)
			require.NotEmpty(t, step.Why)
			said := func(build *string) string {
				if build == nil {
					return nobody
				}
				return *build
			}
			require.Equal(t, tc.current, said(step.Current), step.Why)
			require.Equal(t, tc.ramping, said(step.Ramping), step.Why)
		})
	}
}

func TestARollbackLeadsToTheVersionThatWasCurrentLast(t *testing.T) {
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	s := State{
		Exists: true, Current: "c",
		Versions: []Version{{BuildID: "c", Activated: at}, {BuildID: "b", Activated: at, Deactivated: at.Add(2 * time.Hour)}, {BuildID: "a", Activated: at, Deactivated: at.Add(time.Hour)}},
		Pollers:  map[string]Pollers{"a": EveryQueue, "b": EveryQueue, "c": EveryQueue},
	}
	former, there := s.Former()
	require.True(t, there)
	require.Equal(t, "b", former)

	s.Pollers["b"] = SomeQueues
	former, there = s.Former()
	require.True(t, there)
	require.Equal(t, "a", former, "the version has workers")

	s.Pollers = map[string]Pollers{"c": EveryQueue}
	_, there = s.Former()
	require.False(t, there)

	s.Pollers = map[string]Pollers{"c": EveryQueue, Unversioned: EveryQueue}
	former, there = s.Former()
	require.True(t, there)
	require.Equal(t, Unversioned, former, "before the first version")
}
