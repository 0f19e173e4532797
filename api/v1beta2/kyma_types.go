package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// KymaSpec says which modules a cluster is to have, and where that cluster is.
type KymaSpec struct {
	// Channel is the release channel of all modules that name none themselves.
	// Empty means "regular"; "none" is reserved.
	// +kubebuilder:default:=regular
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern:=`^([a-z]{3,32})?$`
	// +kubebuilder:validation:XValidation:rule="self != 'none'",message="the channel name 'none' is reserved"
	// +optional
	Channel string `json:"channel,omitempty"`

	// SkipMaintenanceWindows lets updates of modules that need a downtime
	// happen at once, not only in a maintenance window.
	// +optional
	SkipMaintenanceWindows bool `json:"skipMaintenanceWindows,omitempty"`

	// Modules is the list of modules that the cluster is to have. A module that
	// is taken off the list is removed from the cluster.
	// +kubebuilder:validation:MaxItems=256
	// +listType=map
	// +listMapKey=name
	// +optional
	Modules []Module `json:"modules,omitempty"`

	// Sync says how the Kyma is synchronised with a remote cluster. Where it is
	// not set, Lifecycle Manager's mode decides: on in control-plane mode, off
	// in single-cluster mode.
	// +optional
	Sync *Sync `json:"sync,omitempty"`
}

// Module is one module that a cluster is to have.
// +kubebuilder:validation:XValidation:rule="!(has(self.channel) && self.channel.size() > 0 && has(self.version) && self.version.size() > 0)",message="channel and version exclude each other"
type Module struct {
	// Name says which module. It is a module name, or the module name label,
	// the name, the namespace/name or the component name of a ModuleTemplate.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern:=`^[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?$`
	Name string `json:"name"`

	// Channel is the release channel of this module, where it is not the Kyma's.
	// It excludes version.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern:=`^([a-z]{3,32})?$`
	// +kubebuilder:validation:XValidation:rule="self != 'none'",message="the channel name 'none' is reserved"
	// +optional
	Channel string `json:"channel,omitempty"`

	// Version pins the module to one version, whatever its channels say. It
	// excludes channel.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern:=`^((0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*)?)?$`
	// +optional
	Version string `json:"version,omitempty"`

	// Controller limits the search to ModuleTemplates whose label
	// operator.kyma-project.io/controller-name has this value.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Controller string `json:"controller,omitempty"`

	// CustomResourcePolicy says whether the module's default custom resource is
	// created and deleted with the module, or managed by the user.
	// +kubebuilder:default:=CreateAndDelete
	// +optional
	CustomResourcePolicy CustomResourcePolicy `json:"customResourcePolicy,omitempty"`

	// RemoteModuleTemplateRef names a ModuleTemplate in the remote cluster that
	// is used for this module: its name, namespace/name, or component name.
	// +kubebuilder:validation:MaxLength=317
	// +optional
	RemoteModuleTemplateRef string `json:"remoteModuleTemplateRef,omitempty"`

	// Managed set to false takes the module out of Lifecycle Manager's hands:
	// what is installed stays and is neither updated nor repaired.
	// +kubebuilder:default:=true
	// +optional
	Managed *bool `json:"managed,omitempty"`
}

// SyncStrategy says how access to the remote cluster is found.
// +kubebuilder:validation:Enum=local-secret;secret;local-client
type SyncStrategy string

// Sync strategies.
const (
	// SyncStrategyLocalSecret takes the kubeconfig from the Secret with the
	// label operator.kyma-project.io/kyma-name.
	SyncStrategyLocalSecret SyncStrategy = "local-secret"
	// SyncStrategySecret is another name of SyncStrategyLocalSecret.
	SyncStrategySecret SyncStrategy = "secret"
	// SyncStrategyLocalClient synchronises into the control plane's own cluster.
	SyncStrategyLocalClient SyncStrategy = "local-client"
)

// Sync says how a Kyma is synchronised with a remote cluster. Its booleans have
// no default in the schema, so that unset and set differ.
type Sync struct {
	// Enabled turns synchronisation on. Unset means off once sync is given.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// Strategy says how access to the remote cluster is found.
	// +kubebuilder:default:=local-secret
	// +optional
	Strategy SyncStrategy `json:"strategy,omitempty"`

	// Namespace is where the remote Kyma and its modules live. Empty means the
	// Kyma's own namespace.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern:=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// NoModuleCopy omits the modules of this Kyma from the remote Kyma when
	// that is created. Unset means true.
	// +optional
	NoModuleCopy *bool `json:"noModuleCopy,omitempty"`

	// ModuleCatalog brings the ModuleTemplates and ModuleReleaseMetas that this
	// Kyma may use into the remote cluster. Unset means true.
	// +optional
	ModuleCatalog *bool `json:"moduleCatalog,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:metadata:labels="operator.kyma-project.io/managed-by=kyma"
// +kubebuilder:resource:shortName=ky,categories=lifecycle
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=".status.state"
// +kubebuilder:printcolumn:name="Channel",type=string,JSONPath=".spec.channel"
// +kubebuilder:printcolumn:name="Modules",type=string,JSONPath=".status.modulesReady",description="Modules that are ready, of all modules"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=".status.lastOperation.operation"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="the name of a Kyma has at most 63 characters, for it is used as a label value"

// Kyma describes one cluster: the modules it is to have, and how they are.
type Kyma struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the cluster is to have.
	// +kubebuilder:default={}
	// +optional
	Spec KymaSpec `json:"spec,omitempty"`
	// Status is the observed state of the cluster.
	// +optional
	Status KymaStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// KymaList is a list of Kymas.
type KymaList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Kyma `json:"items"`
}
