package shared

// Finalizers.
const (
	// FinalizerKyma is on every Kyma from the first reconcile until its removal
	// is complete.
	FinalizerKyma = OperatorGroup + "/Kyma"
	// FinalizerPurge is on a Kyma while a purge may still be needed.
	FinalizerPurge = OperatorGroup + "/purge-finalizer"
	// FinalizerMandatoryModule is on the ModuleReleaseMeta or ModuleTemplate of a
	// mandatory module while any cluster has the module.
	FinalizerMandatoryModule = OperatorGroup + "/mandatory-module"
	// FinalizerWatcher is on a Watcher while its routing exists.
	FinalizerWatcher = OperatorGroup + "/watcher"
	// FinalizerManifest is on every Manifest while its resources exist.
	FinalizerManifest = "declarative.kyma-project.io/finalizer"
	// FinalizerManifestResource is on a Manifest while Lifecycle Manager still
	// has to remove its default custom resource.
	FinalizerManifestResource = "resource.kyma-project.io/finalizer"
	// FinalizerLabelRemoval is on a Manifest while its module's custom resource
	// still has our labels.
	FinalizerLabelRemoval = "label-removal-finalizer"
)

// Field managers of server-side apply. Never rename one: the API server would
// report conflicts with the fields of the old name.
const (
	// FieldManagerModuleResources applies the resources of modules.
	FieldManagerModuleResources = "declarative.kyma-project.io/applier"
	// FieldManagerCatalog applies the module catalog in remote clusters.
	// Lifecycle Manager only deletes catalog objects that it owns.
	FieldManagerCatalog = "catalog-sync"
	// FieldManagerRemoteKyma applies the remote Kyma.
	FieldManagerRemoteKyma = "kyma-sync-context"
	// FieldManagerLifecycleManager applies Lifecycle Manager's own control plane
	// resources.
	FieldManagerLifecycleManager = "lifecycle-manager"
)

// Namespaces.
const (
	// NamespaceControlPlane is the namespace of Lifecycle Manager and its
	// resources.
	NamespaceControlPlane = "kcp-system"
	// NamespaceRemote is the default of `--sync-namespace`. It is never pruned.
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
	// DefaultChannel is the channel of a Kyma without one.
	DefaultChannel = "regular"
	// ChannelNone is reserved: Kymas and ModuleReleaseMetas may not use it. On a
	// ModuleTemplate it means that the template is in no channel and can only be
	// selected by version.
	ChannelNone = "none"
)
