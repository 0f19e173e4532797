package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// ModuleTemplateSpec describes one version of a module.
type ModuleTemplateSpec struct {
	// Channel that the module version is in. Empty where a ModuleReleaseMeta
	// assigns versions to channels.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern:=`^$|^[a-z]{3,}$`
	// +optional
	Channel string `json:"channel,omitempty"`

	// Version of the module: a semantic version without build metadata. Empty
	// where only the descriptor says it.
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
	// it or not.
	// +optional
	Mandatory bool `json:"mandatory,omitempty"`

	// Data is the default custom resource of the module; empty means none. A
	// status in it is dropped.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +nullable
	// +optional
	Data *runtime.RawExtension `json:"data,omitempty"`

	// Descriptor is the OCM component descriptor of the module version. Where it
	// has no component name, the descriptor is fetched from the registry.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +nullable
	// +optional
	Descriptor *runtime.RawExtension `json:"descriptor,omitempty"`

	// Target is the cluster that the module is installed in. Unset means: the
	// remote cluster where the Kyma is synchronised, else the control plane.
	// +optional
	Target Target `json:"target,omitempty"`

	// CustomStateCheck says how to read the state of a module's custom resource
	// that has no status.state.
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

	// Info says where to find more about the module.
	// +optional
	Info *ModuleInfo `json:"info,omitempty"`

	// AssociatedResources are the kinds that belong to the module and may have
	// its user's data.
	// +kubebuilder:validation:MaxItems=256
	// +listType=atomic
	// +optional
	AssociatedResources []GroupVersionKind `json:"associatedResources,omitempty"`

	// Manager names the workload whose state says how the module's operator is.
	// +optional
	Manager *Manager `json:"manager,omitempty"`

	// RequiresDowntime makes an update to this version wait for a maintenance
	// window.
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

// CustomStateCheck maps a value in a module's custom resource to a state.
type CustomStateCheck struct {
	// JSONPath of the value, for example "status.health".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	JSONPath string `json:"jsonPath"`

	// Value to compare with, as text.
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value"`

	// MappedState is the state of the module where the value is as given.
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

// ModuleInfo says where to find more about a module.
type ModuleInfo struct {
	// Repository is the address of the module's source code.
	// +kubebuilder:validation:Format=uri
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	Repository string `json:"repository,omitempty"`

	// Documentation is the address of the module's documentation.
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

// ModuleIcon is a picture of a module.
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

// ModuleTemplate describes one version of a module: what it consists of, its
// default custom resource, and where it may be installed.
type ModuleTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the description of the module version.
	Spec ModuleTemplateSpec `json:"spec"`
}

// +kubebuilder:object:root=true

// ModuleTemplateList is a list of ModuleTemplates.
type ModuleTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ModuleTemplate `json:"items"`
}
