package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// ModuleTemplateSpec describes one version of a module.
type ModuleTemplateSpec struct {
	// Channel of the module version. Leave it empty if a ModuleReleaseMeta
	// assigns the module's versions to channels.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern:=`^$|^[a-z]{3,}$`
	// +optional
	Channel string `json:"channel,omitempty"`

	// Version of the module: a semantic version without build metadata. If empty,
	// the version in the descriptor counts.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern:=`^((0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*)?)?$`
	// +optional
	Version string `json:"version,omitempty"`

	// ModuleName is the name of the module, for example "btp-operator".
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern:=`^([a-z]{3,}(-[a-z]{3,})*)?$`
	// +optional
	ModuleName string `json:"moduleName,omitempty"`

	// Mandatory installs the module into every cluster, whether its Kyma lists
	// the module or not. The default is false.
	// +optional
	Mandatory bool `json:"mandatory,omitempty"`

	// Data is the default custom resource of the module. Empty means that the
	// module has none. A status in it is dropped.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +nullable
	// +optional
	Data *runtime.RawExtension `json:"data,omitempty"`

	// Descriptor is the OCM component descriptor of the module version. If it has
	// no component name, Lifecycle Manager fetches the descriptor from the
	// registry.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +nullable
	// +optional
	Descriptor *runtime.RawExtension `json:"descriptor,omitempty"`

	// Target is the cluster to install the module into. Unset means the remote
	// cluster if the Kyma is synchronized, and otherwise the control plane.
	// +optional
	Target Target `json:"target,omitempty"`

	// CustomStateCheck maps values in the module's custom resource to states. The
	// first check that matches decides, unless it maps to Ready. The module is
	// Ready if for each path with checks for Ready one of these matches. Empty
	// means that status.state of the custom resource decides.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	CustomStateCheck []CustomStateCheck `json:"customStateCheck,omitempty"`

	// Resources are links to files that belong to the module version.
	// +kubebuilder:validation:MaxItems=256
	// +listType=map
	// +listMapKey=name
	// +optional
	Resources []Resource `json:"resources,omitempty"`

	// Info contains links to more information about the module.
	// +optional
	Info *ModuleInfo `json:"info,omitempty"`

	// AssociatedResources lists the kinds that belong to the module and may hold
	// data of its users.
	// +kubebuilder:validation:MaxItems=256
	// +listType=atomic
	// +optional
	AssociatedResources []GroupVersionKind `json:"associatedResources,omitempty"`

	// Manager names the workload that runs the module's operator. The module is
	// Ready only if this workload is ready too. It has no effect if
	// --module-state-from is workloads. Unset means that only the module's own
	// objects count.
	// +optional
	Manager *Manager `json:"manager,omitempty"`

	// RequiresDowntime makes an upgrade to this version wait for a maintenance
	// window. The default is false.
	// +optional
	RequiresDowntime bool `json:"requiresDowntime,omitempty"`
}

// Target is the cluster that a module is installed in.
// +kubebuilder:validation:Enum=control-plane;remote
type Target string

// Targets.
const (
	// TargetControlPlane installs the module into the control plane, once.
	TargetControlPlane Target = "control-plane"
	// TargetRemote installs the module into the Kyma's remote cluster.
	TargetRemote Target = "remote"
)

// CustomStateCheck maps one value in a module's custom resource to a state.
type CustomStateCheck struct {
	// JSONPath of the value, for example "status.health".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	JSONPath string `json:"jsonPath"`

	// Value to compare with, as text. A missing field has the empty value.
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value"`

	// MappedState is the state of the module if the field has this value.
	// +kubebuilder:validation:XValidation:rule="self.size() > 0 && self != 'Unmanaged'",message="mappedState must be Ready, Processing, Warning, Error or Deleting"
	MappedState shared.State `json:"mappedState"`
}

// Resource is a link to a file that belongs to a module version.
type Resource struct {
	// Name of the resource.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name"`

	// Link to the resource.
	// +kubebuilder:validation:Format=uri
	// +kubebuilder:validation:MaxLength=2048
	Link string `json:"link"`
}

// ModuleInfo contains links to more information about a module.
type ModuleInfo struct {
	// Repository is the URL of the module's source code.
	// +kubebuilder:validation:Format=uri
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	Repository string `json:"repository,omitempty"`

	// Documentation is the URL of the module's documentation.
	// +kubebuilder:validation:Format=uri
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	Documentation string `json:"documentation,omitempty"`

	// Icons of the module.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	Icons []ModuleIcon `json:"icons,omitempty"`
}

// ModuleIcon is an icon of a module.
type ModuleIcon struct {
	// Name of the icon.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name"`

	// Link to the icon.
	// +kubebuilder:validation:Format=uri
	// +kubebuilder:validation:MaxLength=2048
	Link string `json:"link"`
}

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:metadata:labels="operator.kyma-project.io/managed-by=kyma"
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
	Spec ModuleTemplateSpec `json:"spec"`
}

// +kubebuilder:object:root=true

// ModuleTemplateList is a list of ModuleTemplates.
type ModuleTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ModuleTemplate `json:"items"`
}
