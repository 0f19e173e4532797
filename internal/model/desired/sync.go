package desired

import (
	"cmp"

	"k8s.io/utils/ptr"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Sync says whether and where a Kyma is synchronized (docs/contract.md#generations).
type Sync struct {
	// Enabled is true if the Kyma has a remote cluster.
	Enabled bool
	// Generation selects the rules about names and about which Kyma's modules are wanted.
	Generation v1beta2.SyncGeneration
	// Strategy says how access to the cluster is found.
	Strategy v1beta2.SyncStrategy
	// Name and Namespace are the name and namespace of the remote Kyma. Namespace is also the default for modules,
	// whether the Kyma is synchronized or not.
	Name, Namespace string
	// CopyModules is true if the remote Kyma is created with the modules of the control plane's Kyma.
	CopyModules bool
	// Catalog is true if the module catalog is copied to the remote cluster.
	Catalog bool
	// MoveTo is the desired place of the remote Kyma if it differs from the recorded one; else nil. An ordered move
	// brings the remote Kyma there.
	MoveTo *Place
}

// Place is the place of a remote Kyma, and the rules that decided it.
type Place struct {
	Name, Namespace string
	Generation      v1beta2.SyncGeneration
}

// SyncOf computes the synchronization of a Kyma. Once the place of the remote Kyma is recorded in `.status.remote`, the
// record counts. A change of the place is an ordered move (docs/design/sync.md#place-and-move).
func SyncOf(kyma *v1beta2.Kyma, settings Settings) Sync {
	settings = settings.WithDefaults()
	s := Sync{
		Enabled:     settings.Mode == ModeControlPlane,
		Generation:  v1beta2.SyncGenerationDefault,
		Strategy:    v1beta2.SyncStrategyLocalSecret,
		Name:        settings.RemoteKymaName,
		Namespace:   settings.SyncNamespace,
		CopyModules: true,
		Catalog:     true,
	}
	if spec := kyma.Spec.Sync; spec != nil {
		s.Enabled = ptr.Deref(spec.Enabled, false)
		s.Generation = v1beta2.SyncGenerationExplicit
		if spec.Strategy == v1beta2.SyncStrategyLocalClient {
			s.Strategy = v1beta2.SyncStrategyLocalClient
		}
		s.Name = kyma.Name
		s.Namespace = cmp.Or(spec.Namespace, kyma.Namespace)
		s.CopyModules = !ptr.Deref(spec.NoModuleCopy, true)
		s.Catalog = ptr.Deref(spec.ModuleCatalog, true)
	}
	if recorded := kyma.Status.Remote; Placed(kyma) {
		wanted := Place{Name: s.Name, Namespace: s.Namespace, Generation: s.Generation}
		if s.Enabled && wanted != (Place{Name: recorded.Name, Namespace: recorded.Namespace, Generation: recorded.Generation}) {
			s.MoveTo = &wanted
		}
		s.Generation = recorded.Generation
		s.Name = recorded.Name
		s.Namespace = recorded.Namespace
	}
	return s
}

// LocalClientRefused reports whether a Kyma asks to be synchronized into the control plane's own cluster with our own
// permissions (strategy `local-client`) and must be refused. In ModeControlPlane that needs AllowControlPlaneModules,
// like modules for the control plane.
func (s Sync) LocalClientRefused(settings Settings) bool {
	return s.Enabled && s.Strategy == v1beta2.SyncStrategyLocalClient && !settings.LocalClientAllowed()
}

// Placed reports whether a synchronization has begun in the remote cluster, which fixes the place. Before that, the
// status only says that the cluster could not be reached.
func Placed(kyma *v1beta2.Kyma) bool {
	return kyma.Status.Remote != nil && kyma.Status.Remote.Cluster != ""
}

// IsAccepted reports whether the remote Kyma was accepted: it was read completely at least once, so its modules are
// known.
func IsAccepted(kyma *v1beta2.Kyma) bool {
	return kyma.Status.Remote != nil && kyma.Status.Remote.UID != ""
}
