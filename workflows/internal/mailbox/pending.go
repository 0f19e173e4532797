package mailbox

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// Pending sums up the kicks since the last reconcile. It is carried over continue-as-new, because a run that continues
// as new has emptied its channels into it.
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
	// Purge is true when somebody asked to force what remains of a module.
	Purge bool `json:"purge,omitempty"`
	// OnlyManifests is true while all kicks were about states of Manifests: then only the status has to be aggregated
	// again.
	OnlyManifests bool `json:"onlyManifests,omitempty"`
	// NotBefore is the earliest time at which one of the kicks may be acted on; zero means at once.
	NotBefore time.Time `json:"notBefore,omitzero"`
	// Since is the earliest time at which a watcher saw one of the changes; zero where no kick says it.
	Since time.Time `json:"since,omitzero"`
	// Seen are the newest versions that the kicks named, at most maxSeen.
	Seen []SeenVersion `json:"seen,omitempty"`
}

// SeenVersion is the version of one object, as named by a kick.
type SeenVersion struct {
	Kind            string `json:"kind"`
	Namespace       string `json:"namespace,omitempty"`
	Name            string `json:"name"`
	ResourceVersion string `json:"resourceVersion"`
}

// maxSeen bounds what is carried; a reconcile with kicks about more objects reads the catalog as it is cached, and the
// next sweep kicks again if that was too old.
const maxSeen = 32

// Add sums up one more kick.
func (p *Pending) Add(k kick.Kick) {
	aboutManifest := (k.Kind == shared.KindManifest || k.Kind == shared.KindRemoteAgent) && !k.Deleting && !k.Whole
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
	if k.Since != nil {
		p.Since = kick.Earliest(p.Since, *k.Since)
	}
	if k.ResourceVersion != "" && k.Name != "" {
		p.see(SeenVersion{Kind: k.Kind, Namespace: k.Namespace, Name: k.Name, ResourceVersion: k.ResourceVersion})
	}
}

// With sums up these kicks and others.
func (p Pending) With(others Pending) Pending {
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
	p.Since = kick.Earliest(p.Since, others.Since)
	p.Seen = slices.Clone(p.Seen)
	for _, v := range others.Seen {
		p.see(v)
	}
	return p
}

// see keeps the last version named of an object: kicks about one object are sent in the order of its changes.
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
		if old.Kind == v.Kind && IsNewer(v.ResourceVersion, old.ResourceVersion) {
			p.Seen[i] = v
			return
		}
	}
}

// IsNewer compares resource versions of one kind. A version that cannot be compared is not newer.
func IsNewer(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return than == "" || err == nil && order > 0
}
