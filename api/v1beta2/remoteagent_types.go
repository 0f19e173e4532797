package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:metadata:labels="operator.kyma-project.io/managed-by=kyma"
// +kubebuilder:resource:path=remoteagents,shortName=ra,categories=lifecycle
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=".status.state"
// +kubebuilder:printcolumn:name="Kyma",type=string,JSONPath=".metadata.labels['operator\\.kyma-project\\.io/kyma-name']"
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=".spec.version"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=".status.lastOperation.operation"

// RemoteAgent is the installation of the agent in the remote cluster of a Kyma,
// with its inventory. The agent reports events to Lifecycle Manager. Only
// Lifecycle Manager writes a RemoteAgent. It is not a module, but it has the
// fields of a Manifest because it is installed in the same way.
type RemoteAgent struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says what to install.
	Spec ManifestSpec `json:"spec"`
	// Status is the observed state of the installation.
	// +optional
	Status ManifestStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// RemoteAgentList is a list of RemoteAgents.
type RemoteAgentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RemoteAgent `json:"items"`
}
