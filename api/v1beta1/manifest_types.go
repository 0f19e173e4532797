package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=mf,categories=lifecycle
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=".status.state"
// +kubebuilder:printcolumn:name="Module",type=string,JSONPath=".metadata.labels['operator\\.kyma-project\\.io/module-name']"
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=".spec.version"
// +kubebuilder:printcolumn:name="Installed",type=string,priority=1,JSONPath=".status.installedVersion",description="Version that was last applied completely"
// +kubebuilder:printcolumn:name="Objects",type=integer,priority=1,JSONPath=".status.counts.total"
// +kubebuilder:printcolumn:name="Ready",type=integer,priority=1,JSONPath=".status.counts.ready"
// +kubebuilder:printcolumn:name="Failed",type=integer,priority=1,JSONPath=".status.counts.failed"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=".status.lastOperation.operation"

// Manifest is the desired state of one module in one cluster. Lifecycle Manager
// resolves a module of a Kyma into a Manifest, and installs what the Manifest
// says. It belongs to a Kyma.
type Manifest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says what to install.
	Spec v1beta2.ManifestSpec `json:"spec"`
	// Status is the observed state of the installation.
	// +optional
	Status v1beta2.ManifestStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// ManifestList is a list of Manifests.
type ManifestList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Manifest `json:"items"`
}
