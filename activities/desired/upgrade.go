package desired

import (
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// AwaitsUpgrade tells whether a Kyma's status says that a module is on its way to a version that its Manifest does not
// have. So it is where what decides changed, such as the maintenance policy, after the reconcile that writes Manifests and
// before the report that follows it: nothing but another reconcile brings the version.
func AwaitsUpgrade(module v1beta2.ModuleStatus, m *v1beta2.Manifest) bool {
	return module.Manifest != nil && module.Manifest.Metadata.Name == m.Name &&
		module.State == shared.StateProcessing && module.Version != m.Spec.Version
}
