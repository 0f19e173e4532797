package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// KymaStatus is the observed state of a cluster and its modules.
type KymaStatus struct {
	// State is the overall state: the worst state of the modules and of the
	// conditions. Mandatory modules do not count.
	// +optional
	State shared.State `json:"state,omitempty"`

	// LastOperation is the last operation, the one that Lifecycle Manager waits
	// for, or the error.
	// +optional
	LastOperation *LastOperation `json:"lastOperation,omitempty"`

	// Conditions of the Kyma: Modules, ModuleCatalog, CRDsSync, SKRWebhook and
	// SKRImagePullSecretSync, if they apply. The condition RemoteKymaDecides only
	// exists while it is True: an edit of channel or modules has no effect,
	// because the Kyma in the remote cluster decides about them.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Modules is the observed state of each module. A module that was removed
	// from the spec stays here in state Deleting until its removal is complete.
	// +listType=atomic
	// +optional
	Modules []ModuleStatus `json:"modules,omitempty"`

	// Manifests are the names of the Kyma's Manifests, including those of
	// mandatory modules. A name is recorded before its Manifest is created, and
	// stays until the Manifest is gone.
	// +listType=atomic
	// +optional
	Manifests []string `json:"manifests,omitempty"`

	// Planned records each Manifest as the last plan of this Kyma decided it. An
	// entry is written before its Manifest. A Manifest without an entry, or with
	// another digest than its entry, is not installed.
	// +listType=map
	// +listMapKey=name
	// +optional
	Planned []PlannedManifest `json:"planned,omitempty"`

	// ActiveChannel is the Kyma's channel when it was last Ready or in Warning.
	// +optional
	ActiveChannel string `json:"activeChannel,omitempty"`

	// ObservedGeneration is the metadata.generation of the last completed reconcile.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// InputsDigest is the digest of all inputs of the last completed reconcile:
	// the spec, the relevant labels and annotations, the ModuleTemplates and
	// ModuleReleaseMetas, and the access Secret.
	// +optional
	InputsDigest string `json:"inputsDigest,omitempty"`

	// WaitsForChange is true if the Kyma cannot become Ready before a person
	// changes something. Lifecycle Manager does not retry before such a change.
	// +optional
	WaitsForChange bool `json:"waitsForChange,omitempty"`

	// RemovalHeldSince is when removals of this Kyma's modules began to wait for
	// the RemovalBudget of the instance. Unset if no removal waits.
	// +optional
	RemovalHeldSince *metav1.Time `json:"removalHeldSince,omitempty"`

	// ModulesReady shows people how many of the modules in the status are ready,
	// for example "3/4".
	// +optional
	ModulesReady string `json:"modulesReady,omitempty"`

	// Remote records the remote Kyma as Lifecycle Manager last accepted it. It is
	// written before Lifecycle Manager acts on it.
	// +optional
	Remote *RemoteStatus `json:"remote,omitempty"`
}

// PlannedManifest records a Manifest as the plan of its Kyma decided it.
type PlannedManifest struct {
	// Name of the Manifest.
	Name string `json:"name"`

	// Digest covers the Manifest's spec, and the labels and annotations that the
	// plan sets.
	Digest string `json:"digest"`

	// Signed is true if the plan accepted the signature of the module's component
	// descriptor under the signature policy "require".
	// +optional
	Signed bool `json:"signed,omitempty"`
}

// ModuleStatus is the observed state of one module of a Kyma.
type ModuleStatus struct {
	// Name of the module, as in the spec.
	Name string `json:"name"`

	// FQDN is the component name of the module. Deprecated: read
	// ocmComponentName. Both have the same value.
	// +optional
	FQDN string `json:"fqdn,omitempty"`

	// OCMComponentName is the component name of the module.
	// +optional
	OCMComponentName string `json:"ocmComponentName,omitempty"`

	// Channel that the version comes from. Empty for a pinned version.
	// +optional
	Channel string `json:"channel,omitempty"`

	// Version that the cluster should have.
	// +optional
	Version string `json:"version,omitempty"`

	// Message explains the state of the module.
	// +optional
	Message string `json:"message,omitempty"`

	// Hint says what you can do about the message. It is a separate field so that
	// clients can compare the message word for word.
	// +optional
	Hint string `json:"hint,omitempty"`

	// State of the module.
	// +optional
	State shared.State `json:"state,omitempty"`

	// RefusedVersion is the version that the entry asks for and that is refused;
	// Message says why. Empty if nothing is refused.
	// +optional
	RefusedVersion string `json:"refusedVersion,omitempty"`

	// Manifest refers to the module's Manifest in the control plane.
	// +optional
	Manifest *TrackedObject `json:"manifest,omitempty"`

	// Resource refers to the module's default custom resource.
	// +optional
	Resource *TrackedObject `json:"resource,omitempty"`

	// Template refers to the module's ModuleTemplate.
	// +optional
	Template *TrackedObject `json:"template,omitempty"`

	// Maintenance is true while an upgrade waits for a maintenance window.
	// +optional
	Maintenance bool `json:"maintenance,omitempty"`

	// DeferredUntil is when a deferred upgrade begins. Unset unless the cluster's
	// owner has deferred an upgrade.
	// +optional
	DeferredUntil *metav1.Time `json:"deferredUntil,omitempty"`
}

// TrackedObject refers to an object and its last observed generation.
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
	// Namespace of the object. Empty for a cluster-scoped object.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Generation of the object when it was last observed.
	// +optional
	Generation int64 `json:"generation,omitempty"`
}

// SyncGeneration names the set of synchronization rules that a Kyma follows.
// +kubebuilder:validation:Enum=Explicit;Default
type SyncGeneration string

// Sync generations.
const (
	// SyncGenerationExplicit applies to a Kyma with spec.sync: the modules of
	// both Kymas are desired, and the remote Kyma has the name and the namespace
	// of the Kyma, or the namespace in spec.sync.
	SyncGenerationExplicit SyncGeneration = "Explicit"
	// SyncGenerationDefault applies to a Kyma without spec.sync: as soon as the
	// remote Kyma exists, it alone decides, and its name and namespace come from
	// flags.
	SyncGenerationDefault SyncGeneration = "Default"
)

// RemoteStatus records the remote Kyma as Lifecycle Manager last accepted it.
type RemoteStatus struct {
	// Name of the remote Kyma. The first synchronization fixes it.
	Name string `json:"name"`

	// Namespace of the remote Kyma. The first synchronization fixes it.
	Namespace string `json:"namespace"`

	// Generation of the synchronization rules that the remote Kyma was created
	// with: Explicit if spec.sync was set, otherwise Default.
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

	// DeferUpgradesUntil is the value of the remote Kyma's annotation
	// operator.kyma-project.io/defer-upgrades-until: its owner defers upgrades
	// until then.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	DeferUpgradesUntil string `json:"deferUpgradesUntil,omitempty"`

	// ControlPlaneSpecDigest is the digest of channel and modules of the control
	// plane's Kyma at the moment when the remote Kyma began to decide. A later
	// edit of them has no effect, and the condition RemoteKymaDecides reports it.
	// +optional
	ControlPlaneSpecDigest string `json:"controlPlaneWishes,omitempty"`

	// MovingFrom is the previous place of the remote Kyma while Lifecycle Manager
	// still has to clean up there. It is written before the move begins.
	// +optional
	MovingFrom *RemotePlace `json:"movingFrom,omitempty"`

	// ImagePullSecret is the name of the image pull Secret that was last
	// synchronized into the namespace of the remote Kyma. The status holds no
	// credentials.
	// +optional
	ImagePullSecret string `json:"imagePullSecret,omitempty"`

	// Reachable says whether the remote cluster answered the last request. Unset
	// before the first request.
	// +optional
	Reachable *bool `json:"reachable,omitempty"`

	// Reason explains why the remote cluster cannot be reached.
	// +optional
	Reason string `json:"unreachableReason,omitempty"`

	// ReachableSince is when the remote cluster answered again after an outage.
	// +optional
	ReachableSince *metav1.Time `json:"reachableSince,omitempty"`

	// Since is when the current outage of the remote cluster was first noticed.
	// +optional
	Since *metav1.Time `json:"unreachableSince,omitempty"`
}

// RemotePlace is the present or a previous place of a remote Kyma.
type RemotePlace struct {
	// Name of the remote Kyma.
	Name string `json:"name"`

	// Namespace of the remote Kyma.
	Namespace string `json:"namespace"`

	// UID of the remote Kyma.
	// +optional
	UID string `json:"uid,omitempty"`
}
