package mailbox

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// Pending sums up the kicks since the last reconcile. A run that continues as new carries it, because it has emptied
// its channels into it.
type Pending struct {
	// Count is the number of kicks.
	Count int `json:"count,omitempty"`
	// Reason is the reason of the newest kick. Only people read it.
	Reason string `json:"reason,omitempty"`
	// Urgent is true if at least one kick was urgent, for example about a spec or a deletion.
	Urgent bool `json:"urgent,omitempty"`
	// Deleting is true if a kick's sender saw the object with a deletion timestamp.
	Deleting bool `json:"deleting,omitempty"`
	// Gone is true if one of the objects was removed.
	Gone bool `json:"gone,omitempty"`
	// Purge is true if a purge of the module was requested.
	Purge bool `json:"purge,omitempty"`
	// OnlyManifests is true while all kicks were about states of Manifests. The run then only has to aggregate the
	// status again.
	OnlyManifests bool `json:"onlyManifests,omitempty"`
	// NotBefore is the earliest time to act on one of the kicks. Zero means at once.
	NotBefore time.Time `json:"notBefore,omitzero"`
	// Since is the earliest time at which a watcher saw one of the changes. It is zero if no kick has a time.
	Since time.Time `json:"since,omitzero"`
	// Seen holds the newest versions that the kicks named, at most maxSeen.
	Seen []SeenVersion `json:"seen,omitempty"`
}

// SeenVersion is the version of one object that a kick named.
type SeenVersion struct {
	Kind            string `json:"kind"`
	Namespace       string `json:"namespace,omitempty"`
	Name            string `json:"name"`
	ResourceVersion string `json:"resourceVersion"`
}

// maxSeen bounds Seen, because runs carry it. After kicks about more objects, a reconcile reads the cached catalog.
// If the cache was too old, the next sweep kicks again.
const maxSeen = 32

// Add adds a kick to the sum.
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

// With returns the sum of p and others.
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

// see keeps the last version of an object, because kicks about one object arrive in the order of its changes.
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
	// For each kind, the newest version says how new a cache must be.
	for i, old := range p.Seen {
		if old.Kind == v.Kind && IsNewer(v.ResourceVersion, old.ResourceVersion) {
			p.Seen[i] = v
			return
		}
	}
}

// IsNewer compares resource versions of one kind. It returns false if they cannot be compared.
func IsNewer(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return than == "" || err == nil && order > 0
}
