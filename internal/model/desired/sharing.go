package desired

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// LabelSharedModule is on every Manifest that is for the control plane's own cluster: its value is that of SharedModule
// for its component. The Manifests of several Kymas that have the same value are one installation
// (docs/contract.md#namespaces-and-defaults): together they are the list of its owners. One of them holds it (Holder);
// the others show what it shows.
const LabelSharedModule = shared.OperatorGroup + "/shared-module"

// SharedModule is the value of LabelSharedModule for a component.
func SharedModule(component string) string { return DigestOf(component)[:16] }

// IsShared tells whether a Manifest is one of the owners of an installation in the control plane's own cluster.
func IsShared(m *v1beta2.Manifest) bool {
	return InControlPlane(m) && m.Labels[LabelSharedModule] != "" && !m.IsUnmanaged() && m.DeletionTimestamp.IsZero()
}

// Holder is the one of the owners of an installation in the control plane that installs it: one that did so already,
// else the oldest. It is the same for everybody who asks; nil where there is no owner.
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
