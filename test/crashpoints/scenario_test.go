package crashpoints

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/test/harness/faultproxy"
	"github.com/kyma-project/lifecycle-manager/test/harness/fixture"
	"github.com/kyma-project/lifecycle-manager/test/harness/inprocess"
)

// scenario is a piece of work on one Manifest.
type scenario struct {
	name string
	// prepare leads up to the work that is cut off; the change that asks for it is its last step.
	prepare func(p *inprocess.Installation)
	// isDone reports whether the work is done.
	isDone func(p *inprocess.Installation) bool
}

func scenarios() []scenario {
	return []scenario{
		{name: "install", prepare: func(*inprocess.Installation) {}, isDone: (*inprocess.Installation).IsSettled},
		{name: "upgrade", prepare: func(p *inprocess.Installation) {
			installed(p)
			p.Upgrade(fixture.Exchanged())
		}, isDone: (*inprocess.Installation).IsSettled},
		{name: "removal", prepare: func(p *inprocess.Installation) {
			installed(p)
			p.Delete()
		}, isDone: (*inprocess.Installation).IsGone},
	}
}

// patience bounds one piece of work, interruptions included.
const patience = 4 * time.Minute

// installed installs the first version without disturbance.
func installed(p *inprocess.Installation) {
	p.Helper()
	worker := p.Work(p, &faultproxy.Proxy{})
	defer worker.Stop()
	p.Kick()
	becomes(p, (*inprocess.Installation).IsSettled)
}

func becomes(p *inprocess.Installation, done func(*inprocess.Installation) bool) {
	p.Helper()
	deadline := time.Now().Add(patience)
	for !done(p) {
		if time.Now().After(deadline) {
			require.FailNow(p, "the work does not end", "%s", describe(p))
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func describe(p *inprocess.Installation) string {
	p.Helper()
	m := p.Read()
	if m == nil || m.Status.LastOperation == nil {
		return "the Manifest is gone or has no status"
	}
	return string(m.Status.State) + ": " + m.Status.LastOperation.Operation
}

// bySweep notifies the worker of the work when no watch event came: by the sweep.
func bySweep(p *inprocess.Installation) {
	p.Helper()
	require.Equal(p, 1, p.Sweep(), "the sweep did not notice")
}

// run does the work through a proxy, begun by a kick. When the connections are cut, another worker takes over.
func (s scenario) run(t *testing.T, h *inprocess.Harness, through *faultproxy.Proxy, kick func(*inprocess.Installation)) inprocess.Snapshot {
	t.Helper()
	p := h.NewInstallation(t, fixture.First())
	s.prepare(p)
	worker := p.Work(t, through)
	kick(p)
	becomes(p, func(p *inprocess.Installation) bool {
		select {
		case <-through.IsCut():
			return true
		default:
			return s.isDone(p)
		}
	})
	if !s.isDone(p) {
		worker.Abandon()
		p.Work(t, &faultproxy.Proxy{})
		becomes(p, s.isDone)
	}
	if p.Read() != nil {
		// A snapshot has no hashes, as they differ between installations: the comparison for drift has.
		require.Zero(t, p.Sweep(), "what was recorded is not what is there")
	}
	return p.Snapshot()
}
