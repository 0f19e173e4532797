package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=kw,categories=lifecycle
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=".status.state"
// +kubebuilder:printcolumn:name="Manager",type=string,JSONPath=".spec.manager"
// +kubebuilder:printcolumn:name="Watches",type=string,JSONPath=".spec.resourceToWatch.resource"
// +kubebuilder:printcolumn:name="Field",type=string,JSONPath=".spec.field"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=".metadata.creationTimestamp"

// Watcher makes the agents in remote clusters report changes of certain objects
// to a Service in the control plane.
type Watcher struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says which objects are watched, and where their events go.
	Spec v1beta2.WatcherSpec `json:"spec"`
	// Status is the observed state of the event routing.
	// +optional
	Status v1beta2.WatcherStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// WatcherList is a list of Watchers.
type WatcherList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Watcher `json:"items"`
}
