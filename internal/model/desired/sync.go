package desired

import (
	"cmp"

	"k8s.io/utils/ptr"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Sync says whether and where a Kyma is synchronized (docs/contract.md#generations).
type Sync struct {
	// Enabled is true when the Kyma has a remote cluster.
	Enabled bool
	// Generation says which rules decide about names and about whose modules are wanted.
	Generation v1beta2.SyncGeneration
	// Strategy says how access is found.
	Strategy v1beta2.SyncStrategy
	// Name and Namespace are those of the remote Kyma. The namespace is also where modules go that do not
	// say otherwise, whether the Kyma is synchronized or not.
	Name, Namespace string
	// CopyModules tells whether the remote Kyma is created with the modules of the control plane's Kyma.
	CopyModules bool
	// Catalog tells whether the module catalog is kept in the remote cluster.
	Catalog bool
	// MoveTo is where the remote Kyma is to be and by which rules, where that is not as recorded: an ordered move
	// brings it there. Nil where it is.
	MoveTo *Place
}

// Place is where a remote Kyma is, and by which rules.
type Place struct {
	Name, Namespace string
	Generation      v1beta2.SyncGeneration
}

// SyncOf works out the synchronization of a Kyma. Where the remote Kyma is, `.status.remote` says once it was
// recorded there; a change of that is an ordered move (docs/design/sync.md#place-and-move).
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

// LocalClientRefused tells whether a Kyma is to be synchronized into the control plane's own cluster with our own
// rights (strategy `local-client`), which is refused: in ModeControlPlane it needs AllowControlPlaneModules, as modules
// for the control plane do.
func (s Sync) LocalClientRefused(settings Settings) bool {
	return s.Enabled && s.Strategy == v1beta2.SyncStrategyLocalClient && !settings.LocalClientAllowed()
}

// Placed tells whether a synchronization has begun in the remote cluster, which fixes where. Before that the status
// only says that the cluster could not be reached.
func Placed(kyma *v1beta2.Kyma) bool {
	return kyma.Status.Remote != nil && kyma.Status.Remote.Cluster != ""
}

// IsAccepted tells whether the remote Kyma was accepted, thus completely read at least once, so that what it asks for is
// known.
func IsAccepted(kyma *v1beta2.Kyma) bool {
	return kyma.Status.Remote != nil && kyma.Status.Remote.UID != ""
}
