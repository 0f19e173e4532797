package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=ky,categories=lifecycle
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=".status.state"
// +kubebuilder:printcolumn:name="Channel",type=string,JSONPath=".spec.channel"
// +kubebuilder:printcolumn:name="Modules",type=string,JSONPath=".status.modulesReady",description="Modules that are ready, of all modules"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=".status.lastOperation.operation"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="the name of a Kyma has at most 63 characters, for it is used as a label value"

// Kyma describes one cluster: its modules, and their observed state.
type Kyma struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state of the cluster.
	// +kubebuilder:default={}
	// +optional
	Spec v1beta2.KymaSpec `json:"spec,omitempty"`
	// Status is the observed state of the cluster.
	// +optional
	Status v1beta2.KymaStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// KymaList is a list of Kymas.
type KymaList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Kyma `json:"items"`
}
