package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ManifestSpec is the resolved intent for one module in one cluster.
type ManifestSpec struct {
	// CustomResourcePolicy says whether the default custom resource in resource
	// is created and deleted with the module, or managed by the user.
	// +kubebuilder:default:=CreateAndDelete
	// +optional
	CustomResourcePolicy CustomResourcePolicy `json:"customResourcePolicy,omitempty"`

	// Remote installs the module into the remote cluster of the Kyma that the
	// label operator.kyma-project.io/kyma-name names, else into the control plane.
	// +optional
	Remote bool `json:"remote,omitempty"`

	// Version of the module.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Version string `json:"version,omitempty"`

	// Config is the layer with the values that a Helm chart is rendered with.
	// +optional
	Config *ImageSpec `json:"config,omitempty"`

	// Install is the layer with the resources of the module.
	Install InstallInfo `json:"install"`

	// Resource is the default custom resource of the module.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:EmbeddedResource
	// +nullable
	// +optional
	Resource *runtime.RawExtension `json:"resource,omitempty"`

	// LocalizedImages are image references that replace those of the same name
	// in the rendered resources.
	// +kubebuilder:validation:MaxItems=512
	// +kubebuilder:validation:items:MaxLength=1024
	// +listType=atomic
	// +optional
	LocalizedImages []string `json:"localizedImages,omitempty"`

	// Manager names the workload whose state says how the module's operator is.
	// +optional
	Manager *Manager `json:"manager,omitempty"`
}

// InstallInfo is the layer with the resources of a module.
type InstallInfo struct {
	// Name of the layer, as in the component descriptor.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name"`

	// Source says where the layer is.
	Source ImageSpec `json:"source"`
}

// ImageSourceType says what a layer is made of.
// +kubebuilder:validation:Enum=oci-ref;oci-dir;helm-chart
type ImageSourceType string

// Image source types.
const (
	// ImageSourceOCIRef is a single blob: a YAML file, or the archive of a Helm
	// chart, distinguished by media type.
	ImageSourceOCIRef ImageSourceType = "oci-ref"
	// ImageSourceOCIDir is the tar archive of a folder with YAML files.
	ImageSourceOCIDir ImageSourceType = "oci-dir"
	// ImageSourceHelmChart is the archive of a Helm chart.
	ImageSourceHelmChart ImageSourceType = "helm-chart"
)

// ImageSpec says where a layer is, and how to read it.
type ImageSpec struct {
	// Repo is the registry with the path below which the components are, for example
	// "registry.example.com/modules". For a blob outside of its component, it is the
	// registry with the path before the name. A trailing "/component-descriptors"
	// is read as well.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Repo string `json:"repo"`

	// Name is the component name, for example "kyma-project.io/module/keda".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Name string `json:"name"`

	// Ref is the digest of the layer, for example "sha256:8f92…", or a tag.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Ref string `json:"ref"`

	// Type says what the layer is made of: oci-ref is one blob, either a YAML
	// file or the archive of a Helm chart, distinguished by the layer's media type;
	// oci-dir is the tar archive of a folder with YAML files; helm-chart is the
	// archive of a Helm chart, whatever its media type.
	Type ImageSourceType `json:"type"`

	// CredSecretSelector selected the Secret with the registry's credentials in
	// earlier generations. It is kept, and has no effect: credentials are in the
	// Secret that the flag --oci-registry-cred-secret names.
	// +optional
	CredSecretSelector *metav1.LabelSelector `json:"credSecretSelector,omitempty"`

	// MediaType of the layer, as known from the component version. For
	// information, and to distinguish a YAML file from a chart without asking the
	// registry.
	// +kubebuilder:validation:MaxLength=255
	// +optional
	MediaType string `json:"mediaType,omitempty"`

	// Size of the layer in bytes, as known from the component version. For
	// information.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Size int64 `json:"size,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:metadata:labels="operator.kyma-project.io/managed-by=kyma"
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

// Manifest is the resolved intent for one module in one cluster: the hand-over
// between resolving a module and installing it. It belongs to a Kyma.
type Manifest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is to be installed.
	Spec ManifestSpec `json:"spec"`
	// Status is the observed state of the installation.
	// +optional
	Status ManifestStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// ManifestList is a list of Manifests.
type ManifestList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Manifest `json:"items"`
}
