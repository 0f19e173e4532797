// Package mailbox receives the signals of one workflow run and sums up the kicks among them. It loses no kick when a
// run ends, and turns many kicks into one reconcile. [New] returns a [Mailbox]. A [Box] holds the kicks for one
// entity that the workflow works for. A [Pending] sums up several kicks, and runs carry it to the next run.
//
// A workflow must decide right after Drain. A signal that is still in a channel when a run ends is lost, and its
// sender gets no error.
package mailbox

import (
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// Box holds the kicks for one entity.
type Box struct {
	// Pending sums up the kicks that the entity may act on, at its pace.
	Pending Pending
	// Later sums up the kicks that wait for their NotBefore. They are separate from Pending, so that a kick that is
	// due earlier neither ends their wait nor waits with them. A whole reconcile answers them too.
	Later Pending
	// unread is true if a kick was put into the box since the last Read.
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

// Unread reports whether a kick was put into the box since the last Read.
func (b *Box) Unread() bool { return b.unread }

// Read marks the kicks in the box as read.
func (b *Box) Read() { b.unread = false }

// Take removes and returns all kicks, for a reconcile that starts now.
func (b *Box) Take() Pending {
	taken := b.Pending.With(b.Later)
	b.Pending, b.Later = Pending{}, Pending{}
	return taken
}

// TakeDue removes and returns the kicks of Pending, for a part of a reconcile.
func (b *Box) TakeDue() Pending {
	taken := b.Pending
	b.Pending = Pending{}
	return taken
}

// Mailbox receives the signals of one run.
type Mailbox struct {
	// Box holds the kicks for the workflow's own entity.
	Box
	// Route returns the box for a kick, or nil for the workflow's own box. Route may be nil.
	Route func(k kick.Kick) *Box
	// Forced is true once an operator asked the run to continue as new.
	Forced bool

	kicks workflow.ReceiveChannel
	force workflow.ReceiveChannel
}

// New returns a mailbox that begins with the kicks that an earlier run carried.
func New(ctx workflow.Context, pending, later Pending) *Mailbox {
	return &Mailbox{
		Box:   Box{Pending: pending, Later: later},
		kicks: workflow.GetSignalChannel(ctx, kick.Signal),
		force: workflow.GetSignalChannel(ctx, kick.SignalContinueAsNew),
	}
}

// Received reports whether a signal waits in a channel.
func (m *Mailbox) Received() bool { return m.kicks.Len() > 0 || m.force.Len() > 0 }

// Arrived reports whether a signal or a kick arrived since the last Drain. It is the condition to wait for.
func (m *Mailbox) Arrived() bool { return m.Received() || m.unread }

// Drain moves all signals into the boxes and marks the workflow's own box as read. It never blocks.
func (m *Mailbox) Drain() {
	m.Sort()
	m.Read()
}

// Sort moves all signals into the boxes without marking the workflow's own box as read.
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

// Take drains the mailbox, then removes and returns all kicks of the workflow's own box. A kick that arrives later
// causes one more reconcile.
func (m *Mailbox) Take() Pending {
	m.Drain()
	return m.Box.Take()
}
