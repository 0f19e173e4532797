package workflows

import (
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"
	"k8s.io/apimachinery/pkg/util/resourceversion"

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
	// Gone is true when one of the objects was removed.
	Gone bool `json:"gone,omitempty"`
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
	aboutManifest := k.Kind == "Manifest" && !k.Deleting && !k.Whole
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
	p.Gone = p.Gone || k.Gone
	if k.ResourceVersion != "" && k.Name != "" {
		p.see(SeenVersion{Kind: k.Kind, Namespace: k.Namespace, Name: k.Name, ResourceVersion: k.ResourceVersion})
	}
}

// with sums up these kicks and others.
func (p Pending) with(others Pending) Pending {
	if p.Count == 0 || others.Count == 0 {
		if p.Count == 0 {
			return others
		}
		return p
	}
	p.Count += others.Count
	p.Urgent, p.Deleting, p.Gone, p.Purge = p.Urgent || others.Urgent, p.Deleting || others.Deleting, p.Gone || others.Gone, p.Purge || others.Purge
	p.OnlyManifests = p.OnlyManifests && others.OnlyManifests
	if others.NotBefore.Before(p.NotBefore) {
		p.NotBefore = others.NotBefore
	}
	p.Seen = slices.Clone(p.Seen)
	for _, v := range others.Seen {
		p.see(v)
	}
	return p
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
		return
	}
	// Of one kind, the newest version says how new all must be.
	for i, old := range p.Seen {
		if old.Kind == v.Kind && isNewer(v.ResourceVersion, old.ResourceVersion) {
			p.Seen[i] = v
			return
		}
	}
}

// isNewer compares resource versions of one kind. What cannot be compared is not newer.
func isNewer(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return than == "" || err == nil && order > 0
}

// mailbox receives the signals of one run.
type mailbox struct {
	kicks  workflow.ReceiveChannel
	purges workflow.ReceiveChannel
	force  workflow.ReceiveChannel
	unread bool

	// pending are the kicks that may be acted on, at the run's pace.
	pending Pending
	// later are those that wait for their NotBefore. They wait apart, so that what may be acted on before neither ends
	// their wait nor has to wait with them. A whole look is an answer to them too.
	later Pending
	// together is true in runs of earlier logic: all kicks were summed up in one, and the first to be due was the
	// end of every wait.
	together bool
	// forced is true once an operator asked to continue as new.
	forced bool
}

func newMailbox(ctx workflow.Context, pending, later Pending, together bool) mailbox {
	if !together && !pending.NotBefore.IsZero() {
		// A run of earlier logic carried it.
		pending, later = Pending{}, later.with(pending)
	}
	return mailbox{
		kicks:    workflow.GetSignalChannel(ctx, kick.Signal),
		purges:   workflow.GetSignalChannel(ctx, kick.SignalPurge),
		force:    workflow.GetSignalChannel(ctx, kick.SignalContinueAsNew),
		pending:  pending,
		later:    later,
		together: together,
	}
}

// put adds a kick from inside the workflow, e.g. from an update handler.
func (m *mailbox) put(k kick.Kick) {
	m.add(k)
	m.unread = true
}

func (m *mailbox) add(k kick.Kick) {
	if k.NotBefore != nil && !k.Urgent && !m.together {
		m.later.Add(k)
	} else {
		m.pending.Add(k)
	}
}

// any tells whether a kick waits to be acted on, now or later.
func (m *mailbox) any() bool { return m.count() > 0 }

// count is how many kicks wait.
func (m *mailbox) count() int { return m.pending.Count + m.later.Count }

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
		m.add(k)
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

// take hands over all that waits to a look that starts now. What arrives after this means one more look.
func (m *mailbox) take() Pending {
	m.drain()
	taken := m.pending.with(m.later)
	m.pending, m.later = Pending{}, Pending{}
	return taken
}

// takePart hands over what may be acted on now to a look at a part of the truth.
func (m *mailbox) takePart() Pending {
	m.drain()
	taken := m.pending
	m.pending = Pending{}
	return taken
}
