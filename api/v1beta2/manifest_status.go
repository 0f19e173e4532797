package v1beta2

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// ManifestStatus records what is installed of a module, and its observed state.
type ManifestStatus struct {
	// State of the module: the state of its objects and of its default custom
	// resource.
	// +optional
	State shared.State `json:"state,omitempty"`

	// LastKnownState is the module's state when its cluster was last reached. It
	// is only set while the state is Error because the cluster cannot be reached.
	// +optional
	LastKnownState shared.State `json:"lastKnownState,omitempty"`

	// LastOperation is the last operation, the one that Lifecycle Manager waits
	// for, or the error.
	// +optional
	LastOperation *LastOperation `json:"lastOperation,omitempty"`

	// Conditions of the Manifest: Resources, Installation and, if the module has
	// a default custom resource, ModuleCR.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Synced lists the objects that were applied.
	// +listType=atomic
	// +optional
	Synced []SyncedObject `json:"synced,omitempty"`

	// ObservedGeneration is the metadata.generation that the last reconcile with
	// work to do started from.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// InputsDigest is the digest of the inputs that the last reconcile with work
	// to do started from.
	// +optional
	InputsDigest string `json:"inputsDigest,omitempty"`

	// Settled is true if nothing remains to be done for the inputs in
	// inputsDigest.
	// +optional
	Settled bool `json:"settled,omitempty"`

	// InstalledVersion is the last module version that was applied completely.
	// +optional
	InstalledVersion string `json:"installedVersion,omitempty"`

	// InstalledRef identifies the last layers that were applied completely.
	// +optional
	InstalledRef string `json:"installedRef,omitempty"`

	// Inventory lists the objects in the cluster that this Manifest owns.
	// Lifecycle Manager adds an object before it applies it, and removes the
	// entry only after the deletion is confirmed.
	// +listType=atomic
	// +optional
	Inventory []InventoryEntry `json:"inventory,omitempty"`

	// Cluster identifies the cluster of the inventory: the uid of its namespace
	// kube-system.
	// +optional
	Cluster string `json:"cluster,omitempty"`

	// TakenOverFrom lists deleted Manifests, as <namespace>/<name>, from which
	// this Manifest took over objects. An entry stays as long as objects carry
	// the labels and annotations of the deleted Manifest.
	// +listType=atomic
	// +optional
	TakenOverFrom []string `json:"takenOverFrom,omitempty"`

	// Kinds lists the kinds of the objects in the inventory, as
	// <group>/<version>/<kind>. The group is empty for the core group.
	// +listType=atomic
	// +optional
	Kinds []string `json:"kinds,omitempty"`

	// Skipped lists kinds that the cluster does not serve, in the same form as
	// kinds. The module's optional objects of these kinds are applied as soon as
	// the cluster serves them.
	// +listType=atomic
	// +optional
	Skipped []string `json:"skipped,omitempty"`

	// Fingerprint is a digest over all objects in the inventory, with their uids
	// and hashes. The cluster has not drifted if its objects give the same
	// fingerprint.
	// +optional
	Fingerprint string `json:"fingerprint,omitempty"`

	// Corrections lists objects that another field manager changed and that
	// Lifecycle Manager corrected. An object that is both changed and deleted has
	// two entries.
	// +listType=atomic
	// +optional
	Corrections []Correction `json:"corrections,omitempty"`

	// Counts the objects in the inventory.
	// +optional
	Counts *ObjectCounts `json:"counts,omitempty"`

	// DefaultCR records the module's default custom resource. Lifecycle Manager
	// writes it before and after the creation.
	// +optional
	DefaultCR *DefaultCRRecord `json:"defaultCR,omitempty"`

	// Target records that the module goes into the control plane's own cluster,
	// as decided from the Kyma and the ModuleTemplate. If unset, the module goes
	// into the remote cluster of the Kyma, whatever the spec says.
	// +optional
	Target *TargetRecord `json:"target,omitempty"`
}

// TargetCluster says why a module goes into the control plane's own cluster.
// +kubebuilder:validation:Enum=control-plane;local-client
type TargetCluster string

// Target clusters.
const (
	// TargetClusterControlPlane means that the module's target is the control
	// plane.
	TargetClusterControlPlane TargetCluster = "control-plane"
	// TargetClusterLocalClient means that the Kyma's remote cluster is the
	// control plane itself (strategy local-client).
	TargetClusterLocalClient TargetCluster = "local-client"
)

// TargetRecord is a decision about a module's target cluster.
type TargetRecord struct {
	// Cluster is the decision.
	Cluster TargetCluster `json:"cluster"`
	// SpecDigest is the digest of the Manifest's spec that the decision covers. A
	// Manifest with another spec is not installed.
	SpecDigest string `json:"specDigest"`
}

// SyncedObject names an object that was applied.
type SyncedObject struct {
	// Group of the object's API. Empty for the core group.
	// +optional
	Group string `json:"group,omitempty"`
	// Version of the object's API.
	Version string `json:"version"`
	// Kind of the object.
	Kind string `json:"kind"`
	// Name of the object.
	Name string `json:"name"`
	// Namespace of the object. Empty for a cluster-scoped object.
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// Correction counts the corrections of an object's drift in a row.
type Correction struct {
	// ID of the object, as in the inventory.
	ID string `json:"id"`
	// Manager is the field manager that changed the object. If the object was
	// deleted but still exists, it is the finalizer that blocks the deletion.
	// +optional
	Manager string `json:"manager,omitempty"`
	// Field is one of the changed fields: .metadata.deletionTimestamp if the
	// object was deleted but still exists, empty if it is gone.
	// +optional
	Field string `json:"field,omitempty"`
	// Times is the number of corrections in a row against this manager.
	Times int32 `json:"times"`
	// LastTime is the time of the last correction.
	LastTime metav1.Time `json:"lastTime"`
	// Over is true if the conflict has ended, because the object has stayed
	// unchanged for a while.
	// +optional
	Over bool `json:"over,omitempty"`
}

// ObjectCounts counts the objects of a module.
type ObjectCounts struct {
	// Total number of objects.
	Total int32 `json:"total"`
	// Ready is the number of objects in their desired state.
	Ready int32 `json:"ready"`
	// Failed is the number of objects that need a change: waiting does not make
	// them ready.
	Failed int32 `json:"failed"`
}

// DefaultCRRecord records a module's default custom resource. A record without a
// uid is an intent: Lifecycle Manager is about to find or create the object. If
// an object with a recorded uid no longer exists, the user has deleted it.
type DefaultCRRecord struct {
	// APIVersion of the object.
	APIVersion string `json:"apiVersion"`
	// Kind of the object.
	Kind string `json:"kind"`
	// Namespace of the object. Empty for a cluster-scoped object.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name of the object.
	Name string `json:"name"`
	// UID of the object. Empty before the object was created or adopted.
	// +optional
	UID string `json:"uid,omitempty"`
	// State that the object reported last.
	// +optional
	State shared.State `json:"state,omitempty"`
}

// KnownState returns the last state that was observed of the module itself, even
// if its cluster is unreachable now.
func (s *ManifestStatus) KnownState() shared.State {
	return cmp.Or(s.LastKnownState, s.State)
}
