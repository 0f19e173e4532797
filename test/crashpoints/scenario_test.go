package crashpoints

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/test/harness"
)

// scenario is a piece of work on one Manifest.
type scenario struct {
	name string
	// prepare leads up to the work that is cut off; the change that asks for it is its last step.
	prepare func(p *harness.Place)
	// isDone tells whether the work is done.
	isDone func(p *harness.Place) bool
}

func scenarios() []scenario {
	return []scenario{
		{name: "install", prepare: func(*harness.Place) {}, isDone: (*harness.Place).IsSettled},
		{name: "upgrade", prepare: func(p *harness.Place) {
			installed(p)
			p.Upgrade(harness.TwentyExchanged())
		}, isDone: (*harness.Place).IsSettled},
		{name: "removal", prepare: func(p *harness.Place) {
			installed(p)
			p.Delete()
		}, isDone: (*harness.Place).IsGone},
	}
}

// patience bounds one piece of work, interruptions included.
const patience = 4 * time.Minute

// installed installs the first version without disturbance.
func installed(p *harness.Place) {
	p.Helper()
	worker := p.Work(p, &harness.Wire{})
	defer worker.Stop()
	p.Kick()
	becomes(p, (*harness.Place).IsSettled)
}

func becomes(p *harness.Place, done func(*harness.Place) bool) {
	p.Helper()
	deadline := time.Now().Add(patience)
	for !done(p) {
		if time.Now().After(deadline) {
			require.FailNow(p, "the work does not come to its end", "%s", describe(p))
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func describe(p *harness.Place) string {
	p.Helper()
	m := p.Read()
	if m == nil || m.Status.LastOperation == nil {
		return "the Manifest is gone or says nothing"
	}
	return string(m.Status.State) + ": " + m.Status.LastOperation.Operation
}

// unheard is how a worker gets to know of the work when no watch event came: by the sweep.
func unheard(p *harness.Place) {
	p.Helper()
	require.Equal(p, 1, p.Sweep(), "the sweep did not find out")
}

// run does the work through a wire, begun by a kick. When the wire is cut, another worker takes over.
func (s scenario) run(t *testing.T, l *harness.Lane, through *harness.Wire, kick func(*harness.Place)) harness.Truth {
	t.Helper()
	p := l.NewPlace(t, harness.TwentyFirst())
	s.prepare(p)
	worker := p.Work(t, through)
	kick(p)
	becomes(p, func(p *harness.Place) bool {
		select {
		case <-through.IsCut():
			return true
		default:
			return s.isDone(p)
		}
	})
	if !s.isDone(p) {
		worker.Abandon()
		p.Work(t, &harness.Wire{})
		becomes(p, s.isDone)
	}
	if p.Read() != nil {
		// A truth says nothing of the hashes, which differ from place to place: the comparison for drift does.
		require.Zero(t, p.Sweep(), "what was recorded is not what is there")
	}
	return p.Truth()
}
