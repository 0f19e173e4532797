// Package mailbox receives the signals of one workflow run and sums up the kicks among them. No kick is lost when a run ends,
// and many kicks become one reconcile. [New] makes a [Mailbox]. A [Box] holds the kicks for one entity that the workflow works
// for, and a [Pending] is the sum of several kicks, which is carried from run to run.
//
// A workflow decides only right after Drain: a signal that is still in a channel when a run ends is lost, and its sender gets
// no error.
package mailbox

import (
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// Box holds the kicks for one entity.
type Box struct {
	// Pending are the kicks that may be acted on, at the entity's pace.
	Pending Pending
	// Later are the kicks that wait for their NotBefore. They wait apart from the others: a kick that may be acted on sooner
	// neither ends their wait nor waits with them. A whole reconcile answers them too.
	Later Pending
	// unread is true if a kick was put into the box since Read was called.
	unread bool
}

// Put adds a kick.
func (b *Box) Put(k kick.Kick) {
	if k.NotBefore != nil && !k.Urgent {
		b.Later.Add(k)
	} else {
		b.Pending.Add(k)
	}
	b.unread = true
}

// Any reports whether a kick waits to be acted on, now or later.
func (b *Box) Any() bool { return b.Count() > 0 }

// Count returns how many kicks wait.
func (b *Box) Count() int { return b.Pending.Count + b.Later.Count }

// Unread reports whether a kick was put into the box since the last call of Read.
func (b *Box) Unread() bool { return b.unread }

// Read marks the kicks in the box as known to whoever waits for them.
func (b *Box) Read() { b.unread = false }

// Take removes and returns all kicks, for a reconcile that starts now.
func (b *Box) Take() Pending {
	taken := b.Pending.With(b.Later)
	b.Pending, b.Later = Pending{}, Pending{}
	return taken
}

// TakeDue removes and returns the kicks that may be acted on now, for a part of a reconcile.
func (b *Box) TakeDue() Pending {
	taken := b.Pending
	b.Pending = Pending{}
	return taken
}

// Mailbox receives the signals of one run.
type Mailbox struct {
	// Box holds the kicks for the workflow's own entity.
	Box
	// Route returns the box that a kick is for, and nil for the workflow's own. It may be nil.
	Route func(k kick.Kick) *Box
	// Forced is true once an operator asked the run to continue as new.
	Forced bool

	kicks workflow.ReceiveChannel
	force workflow.ReceiveChannel
}

// New makes a mailbox with the kicks that an earlier run carried.
func New(ctx workflow.Context, pending, later Pending) *Mailbox {
	return &Mailbox{
		Box:   Box{Pending: pending, Later: later},
		kicks: workflow.GetSignalChannel(ctx, kick.Signal),
		force: workflow.GetSignalChannel(ctx, kick.SignalContinueAsNew),
	}
}

// Received reports whether a signal waits in a channel.
func (m *Mailbox) Received() bool { return m.kicks.Len() > 0 || m.force.Len() > 0 }

// Arrived is the condition to wait for: something came in since the last Drain.
func (m *Mailbox) Arrived() bool { return m.Received() || m.unread }

// Drain empties the channels into the boxes. It never blocks.
func (m *Mailbox) Drain() {
	m.Sort()
	m.Read()
}

// Sort empties the channels into the boxes, and leaves the workflow's own box unread.
func (m *Mailbox) Sort() {
	for {
		var k kick.Kick
		if !m.kicks.ReceiveAsync(&k) {
			break
		}
		box := &m.Box
		if m.Route != nil {
			if other := m.Route(k); other != nil {
				box = other
			}
		}
		box.Put(k)
	}
	for m.force.ReceiveAsync(nil) {
		m.Forced = true
	}
}

// Take drains the mailbox, and removes and returns all kicks of the workflow's own box. A kick that arrives later means one
// more reconcile.
func (m *Mailbox) Take() Pending {
	m.Drain()
	return m.Box.Take()
}
