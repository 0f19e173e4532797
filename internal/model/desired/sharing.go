package desired

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// LabelSharedModule is on every Manifest for the control plane's own cluster. Its value is the SharedModule of its
// component. The Manifests of several Kymas with the same value are the owners of one shared installation
// (docs/contract.md#namespaces-and-defaults). One of them, the Holder, installs the module. The others show the
// Holder's status.
const LabelSharedModule = shared.OperatorGroup + "/shared-module"

// SharedModule returns the value of LabelSharedModule for a component.
func SharedModule(component string) string { return DigestOf(component)[:16] }

// IsShared reports whether a Manifest is an owner of an installation in the control plane's own cluster.
func IsShared(m *v1beta2.Manifest) bool {
	return InControlPlane(m) && m.Labels[LabelSharedModule] != "" && !m.IsUnmanaged() && m.DeletionTimestamp.IsZero()
}

// Holder returns the owner that installs a shared module: one that has already installed it, else the oldest. Every
// caller gets the same result. It is nil if there is no owner.
func Holder(manifests []v1beta2.Manifest) *v1beta2.Manifest {
	var holder *v1beta2.Manifest
	for i := range manifests {
		if m := &manifests[i]; IsShared(m) && (holder == nil || goesBefore(m, holder)) {
			holder = m
		}
	}
	return holder
}

func goesBefore(a, b *v1beta2.Manifest) bool {
	if has, had := a.Status.InstalledRef != "", b.Status.InstalledRef != ""; has != had {
		return has
	}
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Namespace, b.Namespace),
		strings.Compare(a.Name, b.Name)) < 0
}

// KymaOf names the Kyma of a Manifest, for people.
func KymaOf(m *v1beta2.Manifest) types.NamespacedName {
	return types.NamespacedName{Namespace: m.Namespace, Name: m.KymaName()}
}
