// Package config reads module-config.yaml, in which a module team says what its
// module consists of.
package config

import (
	"path/filepath"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// FileName is the name that is looked for in a module's folder.
const FileName = "module-config.yaml"

// Defaults of fields that may be left out.
const (
	// DefaultNamespace is where the control plane keeps its resources (docs/contract.md#field-managers-and-namespaces).
	DefaultNamespace = "kcp-system"
	// DefaultProvider is the provider written into the component descriptor.
	DefaultProvider = "kyma-project.io"
)

// Module is the content of module-config.yaml. Paths in it are relative to the
// folder of that file.
type Module struct {
	// Name is the name of the OCM component: a DNS name and at least one path
	// segment, such as kyma-project.io/module/sample.
	Name string `json:"name"`
	// ModuleName is the name that a Kyma lists, such as sample.
	ModuleName string `json:"moduleName"`
	// Version is a semantic version without build metadata.
	Version string `json:"version"`
	// Provider of the component; DefaultProvider if empty.
	Provider string `json:"provider,omitempty"`

	// Manifest is a YAML file, a list of YAML files, or a directory of them.
	// Exactly one of Manifest and Chart is given.
	Manifest Paths `json:"manifest,omitempty"`
	// Chart is a directory or a .tgz archive with a Helm chart.
	Chart string `json:"chart,omitempty"`
	// Values is a YAML file of values for Chart.
	Values string `json:"values,omitempty"`
	// DefaultCR is a YAML file with the module's default custom resource.
	DefaultCR string `json:"defaultCR,omitempty"`
	// ClusterScoped says that the default custom resource has no namespace.
	ClusterScoped bool `json:"clusterScoped,omitempty"`

	// Namespace of ModuleTemplate and ModuleReleaseMeta; DefaultNamespace if empty.
	Namespace string `json:"namespace,omitempty"`
	// Channels that get this version: NAME, or NAME=VERSION for a channel that
	// has another version.
	Channels []string `json:"channels,omitempty"`
	// Mandatory gives the module to every cluster; such a module has no channels.
	Mandatory bool `json:"mandatory,omitempty"`
	// Beta restricts the module to Kymas with the label beta.
	Beta bool `json:"beta,omitempty"`
	// Internal restricts the module to Kymas with the label internal.
	Internal bool `json:"internal,omitempty"`
	// RequiresDowntime makes an update to this version wait for a maintenance window.
	RequiresDowntime bool `json:"requiresDowntime,omitempty"`
	// Target is control-plane or remote; unset leaves it to the Kyma.
	Target v1beta2.Target `json:"target,omitempty"`

	// Manager names the workload whose state says how the module's operator is.
	Manager *v1beta2.Manager `json:"manager,omitempty"`
	// CustomStateChecks say how to read the state of a default custom resource
	// that has no status.state.
	CustomStateChecks []v1beta2.CustomStateCheck `json:"customStateChecks,omitempty"`
	// AssociatedResources are the kinds that may hold data of the module's users.
	AssociatedResources []v1beta2.GroupVersionKind `json:"associatedResources,omitempty"`
	// Info tells people where to find more about the module.
	Info *v1beta2.ModuleInfo `json:"info,omitempty"`
	// Resources are links to files that belong to this version.
	Resources []v1beta2.Resource `json:"resources,omitempty"`
	// Labels and Annotations of the ModuleTemplate.
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`

	// file is where this was read from.
	file string
	// modulectl is true where it is a configuration of modulectl; warnings name what of that has no meaning here.
	modulectl bool
	warnings  []Problem
}

// IsModulectl tells whether this was read from a configuration file of modulectl. Such a file does not say whether the
// default custom resource has a namespace: its definition does.
func (m Module) IsModulectl() bool { return m.modulectl }

// Warnings name fields that were read and have no effect.
func (m Module) Warnings() []Problem { return m.warnings }

// File is the path of the file that the configuration was read from.
func (m Module) File() string { return m.file }

// Path resolves a path in the configuration against the folder of its file. An address stays one.
func (m Module) Path(path string) string {
	if path == "" || filepath.IsAbs(path) || IsURL(path) {
		return path
	}
	return filepath.Join(filepath.Dir(m.file), path)
}
