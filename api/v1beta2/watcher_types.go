package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// WatcherSpec says which objects the agents watch in remote clusters, and where
// they send the events.
type WatcherSpec struct {
	// ServiceInfo is the Service in the control plane that receives the events.
	ServiceInfo ServiceInfo `json:"serviceInfo"`

	// Manager is the name of the events' receiver and a part of the URL that
	// agents send them to. Empty means the value of the label
	// operator.kyma-project.io/managed-by, or the instance's name if there is no
	// such label.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern:=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	// +optional
	Manager string `json:"manager,omitempty"`

	// LabelsToWatch are the labels that an object must have to be watched. Empty
	// means all objects of the resource.
	// +optional
	LabelsToWatch map[string]string `json:"labelsToWatch,omitempty"`

	// ResourceToWatch is the kind of the watched objects.
	ResourceToWatch WatchableGVR `json:"resourceToWatch"`

	// Field is the part of an object that triggers an event when it changes: spec
	// or status.
	Field WatchedField `json:"field"`

	// Gateway selects the gateways that the events arrive at.
	Gateway GatewayConfig `json:"gateway"`
}

// ServiceInfo names a Service and its port.
type ServiceInfo struct {
	// Name of the Service.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// Port of the Service.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int64 `json:"port"`

	// Namespace of the Service.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
}

// WatchableGVR names the resource that agents watch in remote clusters.
type WatchableGVR struct {
	// Group of the resource's API. Empty means the core group, "*" means all
	// groups.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Group string `json:"group"`

	// Version of the resource's API. "*" means all versions.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Version string `json:"version"`

	// Resource in its plural form, for example "kymas".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Resource string `json:"resource"`
}

// WatchedField is the part of an object that triggers an event when it changes.
// +kubebuilder:validation:Enum=spec;status
type WatchedField string

// Watched fields.
const (
	// WatchedFieldSpec reports changes of the spec.
	WatchedFieldSpec WatchedField = "spec"
	// WatchedFieldStatus reports changes of the status.
	WatchedFieldStatus WatchedField = "status"
)

// GatewayConfig selects gateways.
type GatewayConfig struct {
	// LabelSelector selects the gateways by their labels. If unset, it selects no gateway.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"selector,omitempty"`
}

// WatcherStatus says whether the routing of the Watcher's events is set up.
type WatcherStatus struct {
	// State of the Watcher.
	// +optional
	State shared.State `json:"state,omitempty"`

	// Conditions of the Watcher: VirtualService.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ObservedGeneration is the metadata.generation of the last completed reconcile.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:metadata:labels="operator.kyma-project.io/managed-by=kyma"
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
	Spec WatcherSpec `json:"spec"`
	// Status is the observed state of the event routing.
	// +optional
	Status WatcherStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// WatcherList is a list of Watchers.
type WatcherList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Watcher `json:"items"`
}
