package manifests

import (
	"time"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
)

// OnlyWaitedFor reports whether the whole module was applied for its present inputs and only has to become ready.
// That may never happen: its custom resource can report Error for weeks. The Manifest may come from a cache that
// leaves out large fields.
func OnlyWaitedFor(m *v1beta2.Manifest) bool {
	return !m.Status.Settled && m.IsMaintained() &&
		m.Status.InstalledRef == inventory.LayersRef(m) && m.Status.InputsDigest == InputsDigest(m)
}

// LastChange returns when the state of a Manifest last changed; zero if it has no state yet.
func LastChange(m *v1beta2.Manifest) time.Time {
	var last time.Time
	if m.Status.LastOperation != nil {
		last = m.Status.LastOperation.LastUpdateTime.Time
	}
	for _, c := range m.Status.Conditions {
		if c.LastTransitionTime.After(last) {
			last = c.LastTransitionTime.Time
		}
	}
	return last
}

// StillComparable reports whether objects that were read can be compared with the live Manifest, because it has not
// been reconciled since it was read from the cache.
func StillComparable(live, cached *v1beta2.Manifest) bool {
	if live == nil || !live.DeletionTimestamp.IsZero() || live.Status.Fingerprint != cached.Status.Fingerprint {
		return false
	}
	if live.Status.Settled {
		return live.Status.InputsDigest == InputsDigest(live)
	}
	return OnlyWaitedFor(live) && OnlyWaitedFor(cached) && !IsNews(&live.Status, &cached.Status) && LastChange(live).Equal(LastChange(cached))
}
