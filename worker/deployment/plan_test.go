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
		// current is who becomes the current version, ramping who gets a share.
		current, ramping string
	}{
		"without versioning nothing is done": {State{}, Unversioned, Ramp{}, nobody, nobody},
		"a build whose workers have not polled yet waits": {
			State{Exists: true, Pollers: map[string]Pollers{Unversioned: EveryQueue}}, "n", Ramp{}, nobody, nobody,
		},
		"a build that is on some queues only waits": {
			State{Exists: true, Versions: []Version{fresh("n")}, Pollers: map[string]Pollers{Unversioned: EveryQueue, "n": SomeQueues}}, "n", Ramp{}, nobody, nobody,
		},
		"the first version takes over from workers that are not versioned": {
			State{Exists: true, Versions: []Version{fresh("n")}, Pollers: map[string]Pollers{Unversioned: EveryQueue, "n": EveryQueue}}, "n", Ramp{}, "n", nobody,
		},
		"and where there are none": {
			State{Exists: true, Versions: []Version{fresh("n")}, Pollers: map[string]Pollers{"n": EveryQueue}}, "n", Ramp{}, "n", nobody,
		},
		"a new build takes over": {
			State{Exists: true, Current: "o", Versions: []Version{fresh("n"), used("o")}, Pollers: map[string]Pollers{"o": EveryQueue, "n": EveryQueue}}, "n", Ramp{}, "n", nobody,
		},
		"the leader of the former build leaves the new one alone": {
			State{Exists: true, Current: "n", Versions: []Version{used("n"), used("o")}, Pollers: map[string]Pollers{"o": EveryQueue, "n": EveryQueue}}, "o", Ramp{}, nobody, nobody,
		},
		"what is current stays": {
			State{Exists: true, Current: "n", Versions: []Version{used("n")}, Pollers: map[string]Pollers{"n": SomeQueues}}, "n", Ramp{}, nobody, nobody,
		},
		"a build that was taken back is not made current again": {
			State{Exists: true, Current: "o", Versions: []Version{used("n"), used("o")}, Pollers: map[string]Pollers{"o": SomeQueues, "n": EveryQueue}}, "n", Ramp{}, nobody, nobody,
		},
		"but where nobody else is there": {
			State{Exists: true, Current: "o", Versions: []Version{used("n"), used("o")}, Pollers: map[string]Pollers{"n": EveryQueue}}, "n", Ramp{}, "n", nobody,
		},
		"a former build that is installed again takes over when the newer one's workers are gone": {
			State{Exists: true, Current: "n", Versions: []Version{used("n"), used("o")}, Pollers: map[string]Pollers{"o": EveryQueue}}, "o", Ramp{}, "o", nobody,
		},
		"another build works where neither the current one's nor this one's workers are there": {
			State{Exists: true, Current: "o", Versions: []Version{fresh("n"), used("o")}, Pollers: map[string]Pollers{"n": EveryQueue, "w": SomeQueues}}, "o2", Ramp{}, "n", nobody,
		},
		"nobody where nobody polls every queue": {
			State{Exists: true, Current: "o", Versions: []Version{fresh("n"), used("o")}, Pollers: map[string]Pollers{"n": SomeQueues}}, "n", Ramp{}, nobody, nobody,
		},
		"workers that are no longer versioned take over when those of the version are gone": {
			State{Exists: true, Current: "o", Versions: []Version{used("o")}, Pollers: map[string]Pollers{Unversioned: EveryQueue}}, Unversioned, Ramp{}, Unversioned, nobody,
		},
		"and not before": {
			State{Exists: true, Current: "o", Versions: []Version{used("o")}, Pollers: map[string]Pollers{Unversioned: EveryQueue, "o": SomeQueues}}, Unversioned, Ramp{}, nobody, nobody,
		},
		"a new build begins with a share": {
			State{Exists: true, Current: "o", Versions: []Version{fresh("n"), used("o")}, Pollers: map[string]Pollers{"o": EveryQueue, "n": EveryQueue}}, "n", ramp, nobody, "n",
		},
		"without anybody who does the rest it gets all": {
			State{Exists: true, Current: "o", Versions: []Version{fresh("n"), used("o")}, Pollers: map[string]Pollers{"n": EveryQueue}}, "n", ramp, "n", nobody,
		},
		"its share stays until the time is over": {
			State{Exists: true, Current: "o", Ramping: &Ramping{"n", 10, now.Add(-9 * time.Minute)}, Versions: []Version{used("n"), used("o")}, Pollers: map[string]Pollers{"o": EveryQueue, "n": EveryQueue}}, "n", ramp, nobody, nobody,
		},
		"then it gets all": {
			State{Exists: true, Current: "o", Ramping: &Ramping{"n", 10, now.Add(-10 * time.Minute)}, Versions: []Version{used("n"), used("o")}, Pollers: map[string]Pollers{"o": EveryQueue, "n": EveryQueue}}, "n", ramp, "n", nobody,
		},
		"a share that somebody set stays": {
			State{Exists: true, Current: "o", Ramping: &Ramping{"n", 50, now.Add(-time.Hour)}, Versions: []Version{used("n"), used("o")}, Pollers: map[string]Pollers{"o": EveryQueue, "n": EveryQueue}}, "n", ramp, nobody, nobody,
		},
		"and so does a ramp that somebody ended": {
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

func TestARollBackLeadsToTheVersionThatWasCurrentLast(t *testing.T) {
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
	require.Equal(t, "a", former, "whose workers are there")

	s.Pollers = map[string]Pollers{"c": EveryQueue}
	_, there = s.Former()
	require.False(t, there)

	s.Pollers = map[string]Pollers{"c": EveryQueue, Unversioned: EveryQueue}
	former, there = s.Former()
	require.True(t, there)
	require.Equal(t, Unversioned, former, "before the first version")
}
