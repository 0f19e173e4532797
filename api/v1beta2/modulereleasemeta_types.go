package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ModuleReleaseMetaSpec assigns the versions of one module to channels, or to all
// clusters.
// +kubebuilder:validation:XValidation:rule="has(self.mandatory) != (has(self.channels) && self.channels.size() > 0)",message="exactly one of 'mandatory' or 'channels' must be specified"
type ModuleReleaseMetaSpec struct {
	// ModuleName is the name of the module, for example "btp-operator".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern:=`^([a-z]{3,}(-[a-z]{3,})*)?$`
	ModuleName string `json:"moduleName"`

	// OCMComponentName is the name of the OCM component with the module's
	// versions, for example "kyma-project.io/module/btp-operator".
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern:=`^([a-z][-a-z0-9]*([.][a-z][-a-z0-9]*)*[.][a-z]{2,}(/[a-z][-a-z0-9_]*([.][a-z][-a-z0-9_]*)*)+)?$`
	// +optional
	OCMComponentName string `json:"ocmComponentName,omitempty"`

	// Channels assigns a version to each channel. Empty if the module is
	// mandatory.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=channel
	// +optional
	Channels []ChannelVersion `json:"channels,omitempty"`

	// Mandatory makes the module mandatory: every cluster gets this version,
	// whether its Kyma lists the module or not. It excludes channels.
	// +optional
	Mandatory *MandatoryVersion `json:"mandatory,omitempty"`

	// Beta restricts the module to Kymas with the label
	// operator.kyma-project.io/beta=true. The default is false: no restriction.
	// +optional
	Beta bool `json:"beta,omitempty"`

	// Internal restricts the module to Kymas with the label
	// operator.kyma-project.io/internal=true. The default is false: no
	// restriction.
	// +optional
	Internal bool `json:"internal,omitempty"`

	// KymaSelector restricts the module to Kymas with matching labels. An empty
	// selector matches no Kyma. The flag --restricted-default-modules must list
	// the module too; otherwise no Kyma may have the module. If unset, a module
	// that the flag lists is allowed for no Kyma, and any other module is not
	// restricted.
	// +optional
	KymaSelector *metav1.LabelSelector `json:"kymaSelector,omitempty"`
}

// ChannelVersion assigns a version to a channel.
type ChannelVersion struct {
	// Channel is the name of the channel. The name "none" is reserved.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern:=`^[a-z]{3,}$`
	// +kubebuilder:validation:XValidation:rule="self != 'none'",message="the channel name 'none' is reserved"
	Channel string `json:"channel"`

	// Version of the module in this channel: a semantic version without build
	// metadata.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern:=`^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*)?$`
	Version string `json:"version"`
}

// MandatoryVersion is the version of a mandatory module.
type MandatoryVersion struct {
	// Version that every cluster gets: a semantic version. Build metadata is
	// ignored: 1.0.0+build.1 refers to the ModuleTemplate of version 1.0.0.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern:=`^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?$`
	Version string `json:"version"`
}

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:metadata:labels="operator.kyma-project.io/managed-by=kyma"
// +kubebuilder:resource:path=modulereleasemetas,shortName=mrm,categories=lifecycle
// +kubebuilder:printcolumn:name="Module",type=string,JSONPath=".spec.moduleName"
// +kubebuilder:printcolumn:name="Mandatory",type=string,JSONPath=".spec.mandatory.version"
// +kubebuilder:printcolumn:name="Channels",type=string,JSONPath=".metadata.annotations['operator\\.kyma-project\\.io/channels']",description="Versions of the channels, as Lifecycle Manager last saw them"
// +kubebuilder:printcolumn:name="Component",type=string,priority=1,JSONPath=".spec.ocmComponentName"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=".metadata.creationTimestamp"

// ModuleReleaseMeta says which version of a module each channel has, and which
// Kymas may use the module.
type ModuleReleaseMeta struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec assigns versions to channels and restricts who may use the module.
	Spec ModuleReleaseMetaSpec `json:"spec"`
}

// +kubebuilder:object:root=true

// ModuleReleaseMetaList is a list of ModuleReleaseMetas.
type ModuleReleaseMetaList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ModuleReleaseMeta `json:"items"`
}
