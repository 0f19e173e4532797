package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// LastOperation says what was last done to a resource, in words for people,
// and when that last changed.
type LastOperation struct {
	// Operation is what was done or waited for last, or the error that stopped it.
	Operation string `json:"operation"`

	// Hint says what can be done about the operation, in words for people. It is
	// a field of its own so that the operation can be compared word for word.
	// +optional
	Hint string `json:"hint,omitempty"`

	// Reason is why a Manifest is in Error, as a word for programs; otherwise it is
	// empty.
	// +optional
	Reason string `json:"reason,omitempty"`

	// LastUpdateTime is when the operation last changed.
	// +optional
	LastUpdateTime metav1.Time `json:"lastUpdateTime,omitempty"`
}

// CustomResourcePolicy says what happens to a module's default custom resource.
// +kubebuilder:validation:Enum=CreateAndDelete;Ignore
type CustomResourcePolicy string

// Custom resource policies.
const (
	// CustomResourcePolicyCreateAndDelete creates the default custom resource
	// with the module and deletes it with the module.
	CustomResourcePolicyCreateAndDelete CustomResourcePolicy = "CreateAndDelete"
	// CustomResourcePolicyIgnore means that the user manages the module's custom resources.
	CustomResourcePolicyIgnore CustomResourcePolicy = "Ignore"
)

// GroupVersionKind names a kind of objects.
type GroupVersionKind struct {
	// Group of the API; empty for the core group.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Group string `json:"group"`

	// Version of the API.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Version string `json:"version"`

	// Kind of the objects.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
}

// Schema returns the kind in the form that the Kubernetes libraries use.
func (k GroupVersionKind) Schema() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind}
}

// Manager names the workload whose state says how a module's operator is.
type Manager struct {
	GroupVersionKind `json:",inline"`

	// Namespace of the object. Empty means the remote namespace, or none for a
	// cluster-scoped object.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// NextLastOperation returns the last operation after one more reconcile, without a
// hint: an operation that stays the same keeps its time, so that another reconcile
// changes nothing.
func NextLastOperation(previous *LastOperation, operation string, now metav1.Time) *LastOperation {
	if previous != nil && previous.Operation == operation {
		now = previous.LastUpdateTime
	}
	return &LastOperation{Operation: operation, LastUpdateTime: now}
}

// WithHint returns the operation with what can be done about it; a new hint moves
// no time.
func (o *LastOperation) WithHint(hint string) *LastOperation {
	hinted := *o
	hinted.Hint = hint
	return &hinted
}

// WithReason returns the operation with the reason of an error; a new reason moves no
// time.
func (o *LastOperation) WithReason(reason string) *LastOperation {
	reasoned := *o
	reasoned.Reason = reason
	return &reasoned
}
