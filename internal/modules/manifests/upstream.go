package manifests

import (
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// IsUpstreams reports whether upstream worked on a Manifest and we have not taken it over yet: the status lists what
// upstream applied but has neither an inventory nor an installed layer, which we write together. The Manifest must be
// complete, because a cache leaves out upstream's list.
func IsUpstreams(m *v1beta2.Manifest) bool {
	return len(m.Status.Synced) > 0 && len(m.Status.Inventory) == 0 && m.Status.InstalledRef == ""
}
