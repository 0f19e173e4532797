// Package mailbox receives the signals of one workflow run and sums up the kicks among them, so that none is lost when the
// run ends and many become one reconcile. New makes a Mailbox; Pending is what has come in, and is carried from run to run.
//
// Every decision of a workflow is made right after Drain: a signal that stays in a channel when a run ends is lost without
// an error at its sender.
package mailbox

import (
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/kick"
)

// Mailbox receives the signals of one run.
type Mailbox struct {
	kicks  workflow.ReceiveChannel
	purges workflow.ReceiveChannel
	force  workflow.ReceiveChannel
	unread bool

	// Pending are the kicks that may be acted on, at the run's pace.
	Pending Pending
	// Later are those that wait for their NotBefore. They wait apart, so that what may be acted on before neither ends
	// their wait nor has to wait with them. A whole reconcile answers them too.
	Later Pending
	// together is true in runs of earlier logic: all kicks were summed up in one, and the first to be due ended every
	// wait.
	together bool
	// Forced is true once an operator asked to continue as new.
	Forced bool
}

// New makes a mailbox with what an earlier run carried. together is true in runs of earlier logic, which have no Later.
func New(ctx workflow.Context, pending, later Pending, together bool) Mailbox {
	if !together && !pending.NotBefore.IsZero() {
		// A run of earlier logic carried it.
		pending, later = Pending{}, later.With(pending)
	}
	return Mailbox{
		kicks:    workflow.GetSignalChannel(ctx, kick.Signal),
		purges:   workflow.GetSignalChannel(ctx, kick.SignalPurge),
		force:    workflow.GetSignalChannel(ctx, kick.SignalContinueAsNew),
		Pending:  pending,
		Later:    later,
		together: together,
	}
}

// Put adds a kick from inside the workflow, such as from an update handler.
func (m *Mailbox) Put(k kick.Kick) {
	m.add(k)
	m.unread = true
}

func (m *Mailbox) add(k kick.Kick) {
	if k.NotBefore != nil && !k.Urgent && !m.together {
		m.Later.Add(k)
	} else {
		m.Pending.Add(k)
	}
}

// Any tells whether a kick waits to be acted on, now or later.
func (m *Mailbox) Any() bool { return m.Count() > 0 }

// Count is how many kicks wait.
func (m *Mailbox) Count() int { return m.Pending.Count + m.Later.Count }

// Arrived is the condition to wait on: something came in since the last Drain.
func (m *Mailbox) Arrived() bool {
	return m.kicks.Len() > 0 || m.purges.Len() > 0 || m.force.Len() > 0 || m.unread
}

// Drain empties the channels into what is pending. It never blocks.
func (m *Mailbox) Drain() {
	m.unread = false
	for {
		var k kick.Kick
		if !m.kicks.ReceiveAsync(&k) {
			break
		}
		m.add(k)
	}
	for {
		var k kick.Kick
		if !m.purges.ReceiveAsync(&k) {
			break
		}
		k.Urgent, k.Deleting = true, true
		m.Pending.Add(k)
		m.Pending.Purge = true
	}
	for m.force.ReceiveAsync(nil) {
		m.Forced = true
	}
}

// Take returns all that waits, for a reconcile that starts now. What arrives later means one more reconcile.
func (m *Mailbox) Take() Pending {
	m.Drain()
	taken := m.Pending.With(m.Later)
	m.Pending, m.Later = Pending{}, Pending{}
	return taken
}

// TakeDue returns what may be acted on now, for a part of a reconcile.
func (m *Mailbox) TakeDue() Pending {
	m.Drain()
	taken := m.Pending
	m.Pending = Pending{}
	return taken
}
