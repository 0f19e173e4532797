package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// KymaSpec lists the modules of a cluster and says how Lifecycle Manager
// synchronizes with that cluster.
type KymaSpec struct {
	// Channel is the release channel of all modules that do not name their own.
	// Empty means "regular". The name "none" is reserved.
	// +kubebuilder:default:=regular
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern:=`^([a-z]{3,32})?$`
	// +kubebuilder:validation:XValidation:rule="self != 'none'",message="the channel name 'none' is reserved"
	// +optional
	Channel string `json:"channel,omitempty"`

	// SkipMaintenanceWindows lets upgrades that require downtime start
	// immediately. The default is false: they wait for the next maintenance
	// window.
	// +optional
	SkipMaintenanceWindows bool `json:"skipMaintenanceWindows,omitempty"`

	// Modules lists the modules that the cluster should have. Lifecycle Manager
	// removes a module from the cluster when you take it off the list.
	// +kubebuilder:validation:MaxItems=256
	// +listType=map
	// +listMapKey=name
	// +optional
	Modules []Module `json:"modules,omitempty"`

	// Sync says how the Kyma is synchronized with its remote cluster. If unset,
	// Lifecycle Manager's --mode decides: synchronization is on in control-plane
	// mode and off in single-cluster mode.
	// +optional
	Sync *Sync `json:"sync,omitempty"`
}

// Module is one entry in a Kyma's list of modules.
// +kubebuilder:validation:XValidation:rule="!(has(self.channel) && self.channel.size() > 0 && has(self.version) && self.version.size() > 0)",message="channel and version exclude each other"
type Module struct {
	// Name selects the module. It is a module name. It can also refer to a
	// ModuleTemplate by the value of its label
	// operator.kyma-project.io/module-name, by its name, by its namespace/name,
	// or by its component name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern:=`^[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?$`
	Name string `json:"name"`

	// Channel is the release channel of this module. Empty means the Kyma's
	// channel. It excludes version.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern:=`^([a-z]{3,32})?$`
	// +kubebuilder:validation:XValidation:rule="self != 'none'",message="the channel name 'none' is reserved"
	// +optional
	Channel string `json:"channel,omitempty"`

	// Version pins the module to one version, whatever the channels say. Empty
	// means that the channel decides. It excludes channel.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern:=`^((0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*)?)?$`
	// +optional
	Version string `json:"version,omitempty"`

	// Controller limits the search to ModuleTemplates with this value in the
	// label operator.kyma-project.io/controller-name. Empty means no limit.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Controller string `json:"controller,omitempty"`

	// CustomResourcePolicy decides who manages the module's default custom
	// resource. With CreateAndDelete, the default, Lifecycle Manager creates and
	// deletes it with the module. With Ignore, the user manages it.
	// +kubebuilder:default:=CreateAndDelete
	// +optional
	CustomResourcePolicy CustomResourcePolicy `json:"customResourcePolicy,omitempty"`

	// RemoteModuleTemplateRef names a ModuleTemplate in the remote cluster to use
	// for this module: by name, by namespace/name, or by component name. If empty,
	// name selects the ModuleTemplate, and one in the remote cluster is used only
	// if no ModuleTemplate in the control plane matches.
	// +kubebuilder:validation:MaxLength=317
	// +optional
	RemoteModuleTemplateRef string `json:"remoteModuleTemplateRef,omitempty"`

	// Managed says whether Lifecycle Manager maintains the module. The default is
	// true. If false, the installed module stays in the cluster, but Lifecycle
	// Manager neither updates nor repairs it.
	// +kubebuilder:default:=true
	// +optional
	Managed *bool `json:"managed,omitempty"`
}

// SyncStrategy says how Lifecycle Manager gets access to the remote cluster.
// +kubebuilder:validation:Enum=local-secret;secret;local-client
type SyncStrategy string

// Sync strategies.
const (
	// SyncStrategyLocalSecret takes the kubeconfig from the Secret with the
	// Kyma's name in the label operator.kyma-project.io/kyma-name.
	SyncStrategyLocalSecret SyncStrategy = "local-secret"
	// SyncStrategySecret is another name for SyncStrategyLocalSecret.
	SyncStrategySecret SyncStrategy = "secret"
	// SyncStrategyLocalClient synchronizes into the control plane's own cluster.
	SyncStrategyLocalClient SyncStrategy = "local-client"
)

// Sync says how a Kyma is synchronized with its remote cluster. Its booleans have
// no default in the schema, because unset and false differ.
type Sync struct {
	// Enabled turns synchronization on. If sync is set and enabled is not,
	// synchronization is off.
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// Strategy says how Lifecycle Manager gets access to the remote cluster.
	// local-secret, the default, reads the kubeconfig from the Secret with the
	// Kyma's name in the label operator.kyma-project.io/kyma-name. secret means
	// the same. local-client uses the control plane's own cluster.
	// +kubebuilder:default:=local-secret
	// +optional
	Strategy SyncStrategy `json:"strategy,omitempty"`

	// Namespace of the remote Kyma and its modules. Empty means the namespace of
	// this Kyma.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern:=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// NoModuleCopy says whether Lifecycle Manager creates the remote Kyma without
	// the modules of this Kyma. Unset means true.
	// +optional
	NoModuleCopy *bool `json:"noModuleCopy,omitempty"`

	// ModuleCatalog says whether Lifecycle Manager copies the ModuleTemplates and
	// ModuleReleaseMetas that this Kyma may use into the remote cluster. Unset
	// means true.
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

// Kyma describes one cluster: its modules, and their observed state.
type Kyma struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state of the cluster.
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
