package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/kick"
)

// Pending is what the kicks since the last look amount to. It is carried over continue-as-new, because
// a run that continues as new has emptied its channels into it.
type Pending struct {
	// Count is the number of kicks.
	Count int `json:"count,omitempty"`
	// Reason is the reason of the newest kick, for people.
	Reason string `json:"reason,omitempty"`
	// Urgent is true when at least one kick was about a spec or a deletion.
	Urgent bool `json:"urgent,omitempty"`
	// Deleting is true when somebody saw the object with a deletion timestamp.
	Deleting bool `json:"deleting,omitempty"`
	// Purge is true when somebody asked to force what is left of a module.
	Purge bool `json:"purge,omitempty"`
	// OnlyManifests is true while all kicks were about states of Manifests: then only the status has to
	// be aggregated anew.
	OnlyManifests bool `json:"onlyManifests,omitempty"`
	// NotBefore is the earliest moment at which one of the kicks may be acted on; zero means at once.
	NotBefore time.Time `json:"notBefore,omitzero"`
	// Seen are the newest versions that the kicks told of, at most maxSeen.
	Seen []SeenVersion `json:"seen,omitempty"`
}

// SeenVersion is the version of one object, as told by a kick.
type SeenVersion struct {
	Kind            string `json:"kind"`
	Namespace       string `json:"namespace,omitempty"`
	Name            string `json:"name"`
	ResourceVersion string `json:"resourceVersion"`
}

// maxSeen bounds what is carried; a look that is told of more objects reads the catalog as it is cached
// and is kicked again by the next sweep if that was too old.
const maxSeen = 32

// Add sums up one more kick.
func (p *Pending) Add(k kick.Kick) {
	aboutManifest := k.Kind == "Manifest" && !k.Deleting
	at := time.Time{}
	if k.NotBefore != nil {
		at = *k.NotBefore
	}
	if p.Count == 0 {
		p.OnlyManifests, p.NotBefore = aboutManifest, at
	} else {
		p.OnlyManifests = p.OnlyManifests && aboutManifest
		if at.Before(p.NotBefore) {
			p.NotBefore = at
		}
	}
	p.Count++
	p.Reason = k.Reason
	p.Urgent = p.Urgent || k.Urgent
	p.Deleting = p.Deleting || k.Deleting
	if k.ResourceVersion != "" && k.Name != "" {
		p.see(SeenVersion{Kind: k.Kind, Namespace: k.Namespace, Name: k.Name, ResourceVersion: k.ResourceVersion})
	}
}

// see keeps the last version told of an object: kicks about one object are sent in the order of its changes.
func (p *Pending) see(v SeenVersion) {
	for i, old := range p.Seen {
		if old.Kind == v.Kind && old.Namespace == v.Namespace && old.Name == v.Name {
			p.Seen[i] = v
			return
		}
	}
	if len(p.Seen) < maxSeen {
		p.Seen = append(p.Seen, v)
	}
}

// mailbox receives the signals of one run.
type mailbox struct {
	kicks  workflow.ReceiveChannel
	purges workflow.ReceiveChannel
	force  workflow.ReceiveChannel
	unread bool

	pending Pending
	// forced is true once an operator asked to continue as new.
	forced bool
}

func newMailbox(ctx workflow.Context, pending Pending) mailbox {
	return mailbox{
		kicks:   workflow.GetSignalChannel(ctx, kick.Signal),
		purges:  workflow.GetSignalChannel(ctx, kick.SignalPurge),
		force:   workflow.GetSignalChannel(ctx, kick.SignalContinueAsNew),
		pending: pending,
	}
}

// put adds a kick from inside the workflow, e.g. from an update handler.
func (m *mailbox) put(k kick.Kick) {
	m.pending.Add(k)
	m.unread = true
}

// arrived is the condition to wait on: something came in since the last drain.
func (m *mailbox) arrived() bool {
	return m.kicks.Len() > 0 || m.purges.Len() > 0 || m.force.Len() > 0 || m.unread
}

// drain empties the channels into what is pending. It never blocks. Every decision is made right after
// a drain: a signal that stays in a channel when a run ends is lost without any error at its sender.
func (m *mailbox) drain() {
	m.unread = false
	for {
		var k kick.Kick
		if !m.kicks.ReceiveAsync(&k) {
			break
		}
		m.pending.Add(k)
	}
	for {
		var k kick.Kick
		if !m.purges.ReceiveAsync(&k) {
			break
		}
		k.Urgent, k.Deleting = true, true
		m.pending.Add(k)
		m.pending.Purge = true
	}
	for m.force.ReceiveAsync(nil) {
		m.forced = true
	}
}

// take hands over what is pending to a look that starts now. What arrives after this means one more look.
func (m *mailbox) take() Pending {
	m.drain()
	taken := m.pending
	m.pending = Pending{}
	return taken
}
