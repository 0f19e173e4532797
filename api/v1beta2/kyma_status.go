package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// KymaStatus is the observed state of the cluster and its modules.
type KymaStatus struct {
	// State is the state of the whole: the worst of the modules' states and of
	// the conditions. Mandatory modules do not count.
	// +optional
	State shared.State `json:"state,omitempty"`

	// LastOperation says what was last done or waited for, or the error.
	// +optional
	LastOperation *LastOperation `json:"lastOperation,omitempty"`

	// Conditions of the Kyma: Modules, ModuleCatalog, CRDsSync, SKRWebhook and
	// SKRImagePullSecretSync, as far as they apply. RemoteKymaDecides is there,
	// and True, while an edit of channel or modules has no effect, since the Kyma
	// in the remote cluster decides about them.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Modules says how each module is. A module that was taken off the spec
	// stays here as Deleting until it is gone.
	// +listType=atomic
	// +optional
	Modules []ModuleStatus `json:"modules,omitempty"`

	// Manifests are the names of the Kyma's Manifests, those of mandatory modules
	// among them. Each is written before the Manifest is made, and stays until it
	// is gone.
	// +listType=atomic
	// +optional
	Manifests []string `json:"manifests,omitempty"`

	// Planned says how each Manifest is to be, as the last plan of this Kyma
	// decided it. It is written before the Manifest is. A Manifest that differs
	// from its entry, or has none, is not installed.
	// +listType=map
	// +listMapKey=name
	// +optional
	Planned []PlannedManifest `json:"planned,omitempty"`

	// ActiveChannel is the channel that the cluster was last Ready with.
	// +optional
	ActiveChannel string `json:"activeChannel,omitempty"`

	// ObservedGeneration is the metadata.generation of the last completed reconcile.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// InputsDigest is the digest of all inputs of the last completed reconcile: spec,
	// labels and annotations that matter, templates, release metas and access
	// Secret.
	// +optional
	InputsDigest string `json:"inputsDigest,omitempty"`

	// WaitsForChange is true where the Kyma cannot become Ready before somebody
	// changes something: what is wrong is not tried again until then.
	// +optional
	WaitsForChange bool `json:"waitsForChange,omitempty"`

	// RemovalHeldSince is since when removals of this Kyma's modules wait for the
	// RemovalBudget of the instance; unset if none waits.
	// +optional
	RemovalHeldSince *metav1.Time `json:"removalHeldSince,omitempty"`

	// ModulesReady counts the modules that are ready, of all in the status, for
	// people: "3/4".
	// +optional
	ModulesReady string `json:"modulesReady,omitempty"`

	// Remote is the Kyma in the remote cluster as it was last accepted. It is
	// written before it is acted on.
	// +optional
	Remote *RemoteStatus `json:"remote,omitempty"`
}

// PlannedManifest is a Manifest as the plan of its Kyma decided it.
type PlannedManifest struct {
	// Name of the Manifest.
	Name string `json:"name"`

	// Digest covers the Manifest's spec, and the labels and annotations that the
	// plan sets.
	Digest string `json:"digest"`

	// Signed is true if the plan accepted the module's component descriptor under
	// the signature policy "require".
	// +optional
	Signed bool `json:"signed,omitempty"`
}

// ModuleStatus says how one module of a Kyma is.
type ModuleStatus struct {
	// Name of the module as in the spec.
	Name string `json:"name"`

	// FQDN is the component name of the module. Deprecated: read
	// ocmComponentName; both are filled.
	// +optional
	FQDN string `json:"fqdn,omitempty"`

	// OCMComponentName is the component name of the module.
	// +optional
	OCMComponentName string `json:"ocmComponentName,omitempty"`

	// Channel that the version was taken from; empty for a pinned version.
	// +optional
	Channel string `json:"channel,omitempty"`

	// Version that is wanted in the cluster.
	// +optional
	Version string `json:"version,omitempty"`

	// Message says why the module is in its state.
	// +optional
	Message string `json:"message,omitempty"`

	// Hint says what can be done about the message. It is a field of its own so
	// that the message can be compared word for word.
	// +optional
	Hint string `json:"hint,omitempty"`

	// State of the module.
	// +optional
	State shared.State `json:"state,omitempty"`

	// Manifest refers to the module's Manifest in the control plane.
	// +optional
	Manifest *TrackedObject `json:"manifest,omitempty"`

	// Resource refers to the module's default custom resource.
	// +optional
	Resource *TrackedObject `json:"resource,omitempty"`

	// Template refers to the ModuleTemplate that the module was made from.
	// +optional
	Template *TrackedObject `json:"template,omitempty"`

	// Maintenance is true while an update waits for a maintenance window.
	// +optional
	Maintenance bool `json:"maintenance,omitempty"`

	// DeferredUntil is set while an upgrade waits because the cluster's owner put
	// it off, and says when it begins.
	// +optional
	DeferredUntil *metav1.Time `json:"deferredUntil,omitempty"`
}

// TrackedObject refers to an object, with the generation it had when last seen.
type TrackedObject struct {
	// APIVersion of the object.
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`
	// Kind of the object.
	// +optional
	Kind string `json:"kind,omitempty"`
	// Metadata of the object.
	// +optional
	Metadata TrackedMeta `json:"metadata,omitempty"`
}

// TrackedMeta is the part of an object's metadata that a status shows.
type TrackedMeta struct {
	// Name of the object.
	// +optional
	Name string `json:"name,omitempty"`
	// Namespace of the object; empty for a cluster-scoped one.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Generation of the object when last seen.
	// +optional
	Generation int64 `json:"generation,omitempty"`
}

// SyncGeneration says which generation of the synchronisation rules a Kyma
// follows.
// +kubebuilder:validation:Enum=Explicit;Default
type SyncGeneration string

// Sync generations.
const (
	// SyncGenerationExplicit is that of a Kyma with spec.sync set: both Kymas'
	// modules are desired, names and namespaces are the Kyma's own.
	SyncGenerationExplicit SyncGeneration = "Explicit"
	// SyncGenerationDefault is that of a Kyma without spec.sync: the remote Kyma
	// alone decides once it exists, names and namespaces come from flags.
	SyncGenerationDefault SyncGeneration = "Default"
)

// RemoteStatus is the Kyma in the remote cluster as it was last accepted.
type RemoteStatus struct {
	// Name of the remote Kyma, fixed at the first synchronisation.
	Name string `json:"name"`

	// Namespace of the remote Kyma, fixed at the first synchronisation.
	Namespace string `json:"namespace"`

	// Generation of the synchronisation rules that the remote Kyma was created
	// by: Explicit where spec.sync was set, else Default.
	Generation SyncGeneration `json:"generation"`

	// Cluster identifies the remote cluster: the uid of its kube-system namespace.
	// +optional
	Cluster string `json:"cluster,omitempty"`

	// ObservedGeneration is the metadata.generation of the remote Kyma when it
	// was last accepted.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// UID of the remote Kyma.
	// +optional
	UID string `json:"uid,omitempty"`

	// Channel of the remote Kyma.
	// +optional
	Channel string `json:"channel,omitempty"`

	// Modules of the remote Kyma.
	// +kubebuilder:validation:MaxItems=256
	// +listType=atomic
	// +optional
	Modules []Module `json:"modules,omitempty"`

	// DeferUpgradesUntil is the remote Kyma's annotation of that name: until when
	// its owner puts upgrades off.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	DeferUpgradesUntil string `json:"deferUpgradesUntil,omitempty"`

	// ControlPlaneSpecDigest is the digest of channel and modules of the control
	// plane's Kyma as they were when the remote Kyma began to decide: an edit
	// since then has no effect, which the condition RemoteKymaDecides says.
	// +optional
	ControlPlaneSpecDigest string `json:"controlPlaneWishes,omitempty"`

	// MovingFrom is where the remote Kyma was before, while what remains of it
	// there is still to be deleted. It is written before the move begins.
	// +optional
	MovingFrom *RemotePlace `json:"movingFrom,omitempty"`

	// ImagePullSecret is the name of the Secret beside the remote Kyma with which
	// images are pulled, as last synchronised. It has no credentials.
	// +optional
	ImagePullSecret string `json:"imagePullSecret,omitempty"`

	// Reachable says whether the remote cluster answered when last asked. Unset
	// until it was asked.
	// +optional
	Reachable *bool `json:"reachable,omitempty"`

	// Reason says why the remote cluster is not reachable.
	// +optional
	Reason string `json:"unreachableReason,omitempty"`

	// ReachableSince is when the remote cluster answered again, after it had not.
	// +optional
	ReachableSince *metav1.Time `json:"reachableSince,omitempty"`

	// Since is when the remote cluster was first found not reachable.
	// +optional
	Since *metav1.Time `json:"unreachableSince,omitempty"`
}

// RemotePlace is where a remote Kyma is or was.
type RemotePlace struct {
	// Name of the remote Kyma.
	Name string `json:"name"`

	// Namespace of the remote Kyma.
	Namespace string `json:"namespace"`

	// UID of the remote Kyma.
	// +optional
	UID string `json:"uid,omitempty"`
}
