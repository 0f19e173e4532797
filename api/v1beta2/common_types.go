package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// LastOperation describes the last operation on a resource, and when it last
// changed.
type LastOperation struct {
	// Operation is the last operation, the one that Lifecycle Manager waits for,
	// or the error that stopped it.
	Operation string `json:"operation"`

	// Hint says what you can do about the operation. It is a separate field so
	// that clients can compare the operation word for word.
	// +optional
	Hint string `json:"hint,omitempty"`

	// Reason is a machine-readable reason why a Manifest is in state Error. Empty
	// in other states.
	// +optional
	Reason string `json:"reason,omitempty"`

	// LastUpdateTime is when the operation last changed.
	// +optional
	LastUpdateTime metav1.Time `json:"lastUpdateTime,omitempty"`
}

// CustomResourcePolicy decides who manages a module's default custom resource.
// +kubebuilder:validation:Enum=CreateAndDelete;Ignore
type CustomResourcePolicy string

// Custom resource policies.
const (
	// CustomResourcePolicyCreateAndDelete makes Lifecycle Manager create and
	// delete the default custom resource with the module.
	CustomResourcePolicyCreateAndDelete CustomResourcePolicy = "CreateAndDelete"
	// CustomResourcePolicyIgnore means that the user manages the module's custom resources.
	CustomResourcePolicyIgnore CustomResourcePolicy = "Ignore"
)

// GroupVersionKind names the kind of an object.
type GroupVersionKind struct {
	// Group of the API. Empty for the core group.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Group string `json:"group"`

	// Version of the API.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Version string `json:"version"`

	// Kind of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
}

// Schema returns the kind as a GroupVersionKind of k8s.io/apimachinery.
func (k GroupVersionKind) Schema() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind}
}

// Manager names the workload that runs a module's operator.
type Manager struct {
	GroupVersionKind `json:",inline"`

	// Namespace of the object. Empty means the remote namespace for a namespaced
	// object.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// NextLastOperation returns the last operation after one more reconcile, without
// a hint. If the operation is the same as before, its time does not change, so a
// reconcile without news does not change the status.
func NextLastOperation(previous *LastOperation, operation string, now metav1.Time) *LastOperation {
	if previous != nil && previous.Operation == operation {
		now = previous.LastUpdateTime
	}
	return &LastOperation{Operation: operation, LastUpdateTime: now}
}

// WithHint returns a copy of the operation with the hint. A new hint does not
// change the time.
func (o *LastOperation) WithHint(hint string) *LastOperation {
	hinted := *o
	hinted.Hint = hint
	return &hinted
}

// WithReason returns a copy of the operation with the reason. A new reason does
// not change the time.
func (o *LastOperation) WithReason(reason string) *LastOperation {
	reasoned := *o
	reasoned.Reason = reason
	return &reasoned
}
