// Package layers reads what a module's configuration points to and turns it
// into the layers of a component version. Equal input gives equal bytes: no
// time stamps, no owners, names in order.
package layers

import (
	"errors"

	"helm.sh/helm/v3/pkg/chart"
)

// Names of resources in the component version, which are also their types
// where no type is given below (docs/design/install-and-drift.md#layer-types).
const (
	NameRawManifest = "raw-manifest"
	NameHelmChart   = "helm-chart"
	NameConfig      = "config"
	NameDefaultCR   = "default-cr"
)

// Types of resources in the component version.
const (
	TypeRawManifest = "raw-manifest"
	TypeHelmChart   = "helm-chart"
	TypeYAML        = "yaml"
	TypeDefaultCR   = "default-cr"
)

// Media types of layers. A reader tells a single YAML file from an archive of
// a directory by them.
const (
	MediaTypeYAML  = "application/x-yaml"
	MediaTypeTar   = "application/x-tar"
	MediaTypeChart = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// ErrInput says that a file of the module cannot be used. The error that wraps
// it names the file.
var ErrInput = errors.New("module content is not usable")

// ErrKustomize says that the content is input for kustomize. Lifecycle Manager
// installs what kustomize builds, and does not run it (docs/contract.md#generations).
var ErrKustomize = errors.New("kustomize input is not installed; ship what `kustomize build` prints as the manifest")

// Layer is one resource of the component version.
type Layer struct {
	Name, Type, MediaType string
	Data                  []byte
}

// File is a file of the module. Path is as the user would write it.
type File struct {
	Path string
	Data []byte
}

// Content is all that a module consists of.
type Content struct {
	// Layers in the order in which they are stored.
	Layers []Layer
	// Manifests are the files of a raw manifest.
	Manifests []File
	// Chart is the Helm chart at ChartPath, with its Values; nil without one.
	Chart     *chart.Chart
	ChartPath string
	Values    map[string]any
	// DefaultCR is the file with the default custom resource; nil without one.
	DefaultCR *File
}
