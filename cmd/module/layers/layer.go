// Package layers reads the files that a module's configuration refers to and
// turns them into the layers of a component version. Read is its entry point.
// Equal input gives equal bytes: the archives have no timestamps and no owners,
// and their entries are sorted.
package layers

import (
	"errors"

	"helm.sh/helm/v3/pkg/chart"
)

// Names of resources in the component version. A name is also the resource's
// type, unless a different type is listed below
// (docs/design/install-and-drift.md#layer-types).
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

// Media types of layers. They distinguish a single YAML file from the archive of
// a directory.
const (
	MediaTypeYAML  = "application/x-yaml"
	MediaTypeTar   = "application/x-tar"
	MediaTypeChart = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
)

// ErrInput means that a file of the module cannot be used. The error that wraps
// it names the file.
var ErrInput = errors.New("module content is not usable")

// ErrKustomize means that the content is input for kustomize. Lifecycle Manager
// does not run kustomize, so the module must ship its output
// (docs/contract.md#generations).
var ErrKustomize = errors.New("kustomize input is not supported; ship the output of `kustomize build` as the manifest")

// Layer is one resource of the component version.
type Layer struct {
	Name, Type, MediaType string
	Data                  []byte
}

// File is a file of the module. Path is in the form that the user would write.
type File struct {
	Path string
	Data []byte
}

// Content is everything that a module consists of.
type Content struct {
	// Layers in storage order.
	Layers []Layer
	// Manifests are the files of a raw manifest.
	Manifests []File
	// Chart is the Helm chart at ChartPath, with its Values. Nil if the module
	// has no chart.
	Chart     *chart.Chart
	ChartPath string
	Values    map[string]any
	// DefaultCR is the file with the default custom resource. Nil if the module
	// has none.
	DefaultCR *File
}
