package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=mt,categories=lifecycle
// +kubebuilder:printcolumn:name="Module",type=string,JSONPath=".spec.moduleName"
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=".spec.version"
// +kubebuilder:printcolumn:name="Channel",type=string,JSONPath=".spec.channel"
// +kubebuilder:printcolumn:name="Mandatory",type=boolean,priority=1,JSONPath=".spec.mandatory"
// +kubebuilder:printcolumn:name="Target",type=string,priority=1,JSONPath=".spec.target"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=".metadata.creationTimestamp"

// ModuleTemplate describes one version of a module: its component, its default
// custom resource, and its target cluster.
type ModuleTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec describes the module version.
	Spec v1beta2.ModuleTemplateSpec `json:"spec"`
}

// +kubebuilder:object:root=true

// ModuleTemplateList is a list of ModuleTemplates.
type ModuleTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ModuleTemplate `json:"items"`
}
