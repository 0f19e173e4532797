package manifests

import (
	"time"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
)

// OnlyWaitedFor tells whether all of a Manifest's module was applied for its present inputs, so that all that remains is
// to wait until it is ready. That may be never: its custom resource can report Error for weeks. The Manifest may come
// from a cache that leaves out what is large.
func OnlyWaitedFor(m *v1beta2.Manifest) bool {
	return !m.Status.Settled && m.IsMaintained() &&
		m.Status.InstalledRef == inventory.LayersRef(m) && m.Status.InputsDigest == InputsDigest(m)
}

// LastChange is when the state of a Manifest changed last; zero when it has none yet.
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

// StillComparable tells whether what was read can be compared with the live Manifest: it was not reconciled since it was
// read from the cache.
func StillComparable(live, cached *v1beta2.Manifest) bool {
	if live == nil || !live.DeletionTimestamp.IsZero() || live.Status.Fingerprint != cached.Status.Fingerprint {
		return false
	}
	if live.Status.Settled {
		return live.Status.InputsDigest == InputsDigest(live)
	}
	return OnlyWaitedFor(live) && OnlyWaitedFor(cached) && !IsNews(&live.Status, &cached.Status) && LastChange(live).Equal(LastChange(cached))
}
