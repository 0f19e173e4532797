package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ManifestSpec is the desired state of one module in one cluster.
type ManifestSpec struct {
	// CustomResourcePolicy decides who manages the default custom resource in
	// resource. With CreateAndDelete, the default, Lifecycle Manager creates and
	// deletes it with the module. With Ignore, the user manages it.
	// +kubebuilder:default:=CreateAndDelete
	// +optional
	CustomResourcePolicy CustomResourcePolicy `json:"customResourcePolicy,omitempty"`

	// Remote says whether to install the module into the remote cluster of the
	// Kyma that the label operator.kyma-project.io/kyma-name names. The default
	// is false: the control plane.
	// +optional
	Remote bool `json:"remote,omitempty"`

	// Version of the module.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Version string `json:"version,omitempty"`

	// Config is the layer with the values for rendering a Helm chart. Unset means
	// that no layer has values.
	// +optional
	Config *ImageSpec `json:"config,omitempty"`

	// Install is the layer with the resources of the module.
	Install InstallInfo `json:"install"`

	// Resource is the default custom resource of the module. Unset means that the
	// module has none.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:EmbeddedResource
	// +nullable
	// +optional
	Resource *runtime.RawExtension `json:"resource,omitempty"`

	// LocalizedImages lists image references. Each replaces the reference to the
	// image of the same name in the rendered resources.
	// +kubebuilder:validation:MaxItems=512
	// +kubebuilder:validation:items:MaxLength=1024
	// +listType=atomic
	// +optional
	LocalizedImages []string `json:"localizedImages,omitempty"`

	// Manager names the workload that runs the module's operator. The module is
	// Ready only if this workload is ready too. It has no effect if
	// --module-state-from is workloads. Unset means that only the module's own
	// objects count.
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

// ImageSourceType is the format of a layer.
// +kubebuilder:validation:Enum=oci-ref;oci-dir;helm-chart
type ImageSourceType string

// Image source types.
const (
	// ImageSourceOCIRef is a single blob: a YAML file or the archive of a Helm
	// chart. The media type tells them apart.
	ImageSourceOCIRef ImageSourceType = "oci-ref"
	// ImageSourceOCIDir is the tar archive of a directory with YAML files.
	ImageSourceOCIDir ImageSourceType = "oci-dir"
	// ImageSourceHelmChart is the archive of a Helm chart.
	ImageSourceHelmChart ImageSourceType = "helm-chart"
)

// ImageSpec says where a layer is stored, and how to read it.
type ImageSpec struct {
	// Repo is the registry, with the path that precedes the component names, for
	// example "registry.example.com/modules". For a blob outside of its
	// component, it is the registry with the path that precedes the name. A
	// trailing "/component-descriptors" is accepted too.
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

	// Type is the format of the layer. oci-ref is a single blob: a YAML file or
	// the archive of a Helm chart, as the layer's media type says. oci-dir is the
	// tar archive of a directory with YAML files. helm-chart is the archive of a
	// Helm chart, whatever its media type.
	Type ImageSourceType `json:"type"`

	// CredSecretSelector has no effect. In earlier generations it selected the
	// Secret with the registry's credentials. These are now in the Secret that
	// the flag --oci-registry-cred-secret names.
	// +optional
	CredSecretSelector *metav1.LabelSelector `json:"credSecretSelector,omitempty"`

	// MediaType of the layer, as recorded in the component version. With it,
	// Lifecycle Manager can tell a YAML file from a chart without a request to
	// the registry. If empty, it asks the registry.
	// +kubebuilder:validation:MaxLength=255
	// +optional
	MediaType string `json:"mediaType,omitempty"`

	// Size of the layer in bytes, as recorded in the component version. It is
	// only informative.
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

// Manifest is the desired state of one module in one cluster. Lifecycle Manager
// resolves a module of a Kyma into a Manifest, and installs what the Manifest
// says. It belongs to a Kyma.
type Manifest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says what to install.
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
