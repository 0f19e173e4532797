package descriptor

import "strings"

// Use is the purpose of a resource in a component version. Some resources are recognized by their name, others by their
// type (docs/design/install-and-drift.md#layer-types).
type Use string

const (
	// UseNone: the resource is not installed, like an image.
	UseNone Use = ""
	// UseRawManifest: YAML to install, a file or a tar of a folder.
	UseRawManifest Use = "raw-manifest"
	// UseHelmChart: a chart to install.
	UseHelmChart Use = "helm-chart"
	// UseConfig: the values of a chart.
	UseConfig Use = "config"
	// UseDefaultCR: the module's default custom resource.
	UseDefaultCR Use = "default-cr"
	// UseKustomize: input for kustomize, which we do not install.
	UseKustomize Use = "kustomize"
)

// Use returns the purpose of the resource.
func (r Resource) Use() Use {
	if use := Use(r.Name); use == UseConfig || use == UseDefaultCR || use == UseRawManifest {
		return use
	}
	switch r.Type {
	case "raw-manifest", "rawManifest", "yaml":
		return UseRawManifest
	case "helm-chart", "helmChart":
		return UseHelmChart
	case "config":
		return UseConfig
	case "default-cr":
		return UseDefaultCR
	case "kustomize":
		return UseKustomize
	}
	return UseNone
}

// Kinds of access (Access.Kind) that we can install from.
const (
	AccessLocalOCIBlob = "localociblob"
	AccessLocalBlob    = "localblob"
	AccessOCIBlob      = "ociblob"
	AccessOCIArtifact  = "ociartifact"
)

// Kind returns the access type without version, in lower case because both spellings are in use.
func (a Access) Kind() string {
	kind, _, _ := strings.Cut(a.Type, "/")
	return strings.ToLower(kind)
}
