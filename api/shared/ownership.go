package shared

// Finalizers.
const (
	// FinalizerKyma is on every Kyma from the first reconcile until all is removed.
	FinalizerKyma = OperatorGroup + "/Kyma"
	// FinalizerPurge is on a Kyma while a purge may still be needed.
	FinalizerPurge = OperatorGroup + "/purge-finalizer"
	// FinalizerMandatoryModule is on the ModuleReleaseMeta (or ModuleTemplate)
	// of a mandatory module while it is installed anywhere.
	FinalizerMandatoryModule = OperatorGroup + "/mandatory-module"
	// FinalizerWatcher is on a Watcher while its routing exists.
	FinalizerWatcher = OperatorGroup + "/watcher"
	// FinalizerManifest is on every Manifest while its resources exist.
	FinalizerManifest = "declarative.kyma-project.io/finalizer"
	// FinalizerManifestResource is on a Manifest while its default module CR
	// is ours to remove.
	FinalizerManifestResource = "resource.kyma-project.io/finalizer"
	// FinalizerLabelRemoval is on a Manifest until the labels that tie its
	// module CR to us are gone.
	FinalizerLabelRemoval = "label-removal-finalizer"
)

// Field managers of server-side apply. They decide who owns a field, so they
// are load-bearing: a new name would conflict with the fields of the old one.
const (
	// FieldManagerModuleResources applies the resources of modules.
	FieldManagerModuleResources = "declarative.kyma-project.io/applier"
	// FieldManagerCatalog applies the module catalog in remote clusters; only
	// what it owns there is ours to delete.
	FieldManagerCatalog = "catalog-sync"
	// FieldManagerRemoteKyma applies the remote Kyma.
	FieldManagerRemoteKyma = "kyma-sync-context"
	// FieldManagerLifecycleManager applies our own control plane resources.
	FieldManagerLifecycleManager = "lifecycle-manager"
)

// Namespaces.
const (
	// NamespaceControlPlane is where Lifecycle Manager and its resources live.
	NamespaceControlPlane = "kcp-system"
	// NamespaceRemote is the default of `--sync-namespace`; it is never pruned.
	NamespaceRemote = "kyma-system"
	// NamespaceIstio has gateways and certificates.
	NamespaceIstio = "istio-system"
	// NamespaceKubeSystem is the namespace whose uid identifies a cluster.
	NamespaceKubeSystem = "kube-system"
)

// DefaultRemoteKymaName is the default of `--remote-kyma-name`.
const DefaultRemoteKymaName = "default"

// Channels.
const (
	// DefaultChannel is the channel of a Kyma that names none.
	DefaultChannel = "regular"
	// ChannelNone is reserved. A Kyma and a ModuleReleaseMeta may not use it;
	// on a ModuleTemplate it means: in no channel, chosen by version only.
	ChannelNone = "none"
)
