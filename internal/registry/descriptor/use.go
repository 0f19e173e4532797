package descriptor

import "strings"

// Use says what a resource of a component version is for. Some are known by their name, others by their type
// (docs/design/install-and-drift.md#layer-types).
type Use string

const (
	// UseNone: it is only there for people and tools, like an image.
	UseNone Use = ""
	// UseRawManifest: YAML to install, a file or a tar of a folder.
	UseRawManifest Use = "raw-manifest"
	// UseHelmChart: a chart to install.
	UseHelmChart Use = "helm-chart"
	// UseConfig: the values of a chart.
	UseConfig Use = "config"
	// UseDefaultCR: the module's default custom resource.
	UseDefaultCR Use = "default-cr"
	// UseKustomize: input for kustomize, which is not installed.
	UseKustomize Use = "kustomize"
)

// Use says what the resource is for.
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

// Kinds of access (Access.Kind) that can be installed from.
const (
	AccessLocalOCIBlob = "localociblob"
	AccessLocalBlob    = "localblob"
	AccessOCIBlob      = "ociblob"
	AccessOCIArtifact  = "ociartifact"
)

// Kind is the access type without version, in lower case, for both spellings are in use.
func (a Access) Kind() string {
	kind, _, _ := strings.Cut(a.Type, "/")
	return strings.ToLower(kind)
}
