package manifests

import (
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// IsUpstreams tells whether upstream worked on a Manifest, and we have not taken it over yet: it names what was applied,
// but nothing is known of that. We write both at once. The Manifest must be complete: a cache leaves out what upstream
// wrote.
func IsUpstreams(m *v1beta2.Manifest) bool {
	return len(m.Status.Synced) > 0 && len(m.Status.Inventory) == 0 && m.Status.InstalledRef == ""
}
