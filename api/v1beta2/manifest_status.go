package v1beta2

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// ManifestStatus says what is installed of a module, and how it is.
type ManifestStatus struct {
	// State of the module: that of its resources and of its custom resource.
	// +optional
	State shared.State `json:"state,omitempty"`

	// LastKnownState is the module's state when its cluster was last reached.
	// It is set while the state is Error only because the cluster cannot be reached.
	// +optional
	LastKnownState shared.State `json:"lastKnownState,omitempty"`

	// LastOperation says what was last done or waited for, or the error.
	// +optional
	LastOperation *LastOperation `json:"lastOperation,omitempty"`

	// Conditions of the Manifest: Resources, Installation and, with a default
	// custom resource, ModuleCR.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// Synced lists the objects that were applied.
	// +listType=atomic
	// +optional
	Synced []SyncedObject `json:"synced,omitempty"`

	// ObservedGeneration is the metadata.generation of the last reconcile that began
	// work.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// InputsDigest is the digest of the inputs of the last reconcile that began work.
	// +optional
	InputsDigest string `json:"inputsDigest,omitempty"`

	// Settled is true when nothing more is to be done for the inputs in
	// inputsDigest.
	// +optional
	Settled bool `json:"settled,omitempty"`

	// InstalledVersion is the module version that was last applied completely.
	// +optional
	InstalledVersion string `json:"installedVersion,omitempty"`

	// InstalledRef identifies the layers that were last applied completely.
	// +optional
	InstalledRef string `json:"installedRef,omitempty"`

	// Inventory lists the objects in the cluster that this Manifest owns. It is
	// written before objects are applied, and shrinks only after a confirmed
	// deletion.
	// +listType=atomic
	// +optional
	Inventory []InventoryEntry `json:"inventory,omitempty"`

	// Cluster is the uid of the namespace kube-system in the cluster that the
	// inventory is of.
	// +optional
	Cluster string `json:"cluster,omitempty"`

	// TakenOverFrom lists the Manifests, as <namespace>/<name>, whose objects this
	// one took over when they were deleted, as long as the objects still carry
	// their marks.
	// +listType=atomic
	// +optional
	TakenOverFrom []string `json:"takenOverFrom,omitempty"`

	// Kinds lists the kinds of the objects in the inventory, as
	// <group>/<version>/<kind>; the group is empty for the core kinds.
	// +listType=atomic
	// +optional
	Kinds []string `json:"kinds,omitempty"`

	// Skipped lists the kinds of optional objects of the module that the cluster
	// does not know, as in kinds. They are applied once it does.
	// +listType=atomic
	// +optional
	Skipped []string `json:"skipped,omitempty"`

	// Fingerprint is a digest over the objects of the inventory with their uids
	// and hashes: a cluster whose objects give the same one has not drifted.
	// +optional
	Fingerprint string `json:"fingerprint,omitempty"`

	// Corrections are the objects that somebody keeps changing, and that were
	// corrected again. One object is in two entries if somebody changes it and
	// somebody deletes it.
	// +listType=atomic
	// +optional
	Corrections []Correction `json:"corrections,omitempty"`

	// Counts the objects in the inventory.
	// +optional
	Counts *ObjectCounts `json:"counts,omitempty"`

	// DefaultCR is the default custom resource of the module, as recorded before
	// and after its creation.
	// +optional
	DefaultCR *DefaultCRRecord `json:"defaultCR,omitempty"`

	// Target says that the module is for the control plane's own cluster, as it
	// was decided from the Kyma and the ModuleTemplate. Without it, whatever the
	// spec says, the module is for the remote cluster of the Kyma.
	// +optional
	Target *TargetRecord `json:"target,omitempty"`
}

// TargetCluster is how a module gets into the control plane's own cluster.
// +kubebuilder:validation:Enum=control-plane;local-client
type TargetCluster string

// Target clusters.
const (
	// TargetClusterControlPlane is the control plane, as the target of the module.
	TargetClusterControlPlane TargetCluster = "control-plane"
	// TargetClusterLocalClient is the control plane, as the remote cluster of a
	// Kyma with the strategy local-client.
	TargetClusterLocalClient TargetCluster = "local-client"
)

// TargetRecord is a decision about where a module goes.
type TargetRecord struct {
	// Cluster that was decided on.
	Cluster TargetCluster `json:"cluster"`
	// SpecDigest is the digest of the spec that the decision is about: another
	// one is not installed.
	SpecDigest string `json:"specDigest"`
}

// SyncedObject names an object that was applied.
type SyncedObject struct {
	// Group of the object's API; empty for the core group.
	// +optional
	Group string `json:"group,omitempty"`
	// Version of the object's API.
	Version string `json:"version"`
	// Kind of the object.
	Kind string `json:"kind"`
	// Name of the object.
	Name string `json:"name"`
	// Namespace of the object; empty for a cluster-scoped one.
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// Correction says how often the drift of an object was corrected in a row.
type Correction struct {
	// ID of the object, as in the inventory.
	ID string `json:"id"`
	// Manager is the field manager that changed what is ours. For an object
	// that was deleted and is not gone yet, it is the finalizer that holds it.
	// +optional
	Manager string `json:"manager,omitempty"`
	// Field is one of the fields that it changed; none if the object was
	// deleted.
	// +optional
	Field string `json:"field,omitempty"`
	// Times that it was corrected against this manager, in a row.
	Times int32 `json:"times"`
	// LastTime that it was corrected.
	LastTime metav1.Time `json:"lastTime"`
	// Over is true if the conflict has ended: the object then stayed as it
	// should be for a while.
	// +optional
	Over bool `json:"over,omitempty"`
}

// ObjectCounts counts the objects of a module.
type ObjectCounts struct {
	// Total number of objects.
	Total int32 `json:"total"`
	// Ready is the number of objects that are as they should be.
	Ready int32 `json:"ready"`
	// Failed is the number of objects that cannot become ready by waiting.
	Failed int32 `json:"failed"`
}

// DefaultCRRecord is what is known of a module's default custom resource. A
// record without uid is an intent: the object is to be looked up, or created.
// A recorded uid that is gone means that the user removed the object.
type DefaultCRRecord struct {
	// APIVersion of the object.
	APIVersion string `json:"apiVersion"`
	// Kind of the object.
	Kind string `json:"kind"`
	// Namespace of the object; empty for a cluster-scoped one.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Name of the object.
	Name string `json:"name"`
	// UID of the object, once it was created or adopted.
	// +optional
	UID string `json:"uid,omitempty"`
	// State that the object last reported.
	// +optional
	State shared.State `json:"state,omitempty"`
}

// KnownState is the state that the module itself has, as far as anybody knows.
func (s *ManifestStatus) KnownState() shared.State {
	return cmp.Or(s.LastKnownState, s.State)
}
