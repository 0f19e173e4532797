// Package config reads module-config.yaml, the file in which a module team describes its module. It also reads the
// configuration files of modulectl, the module tool of Kyma's own Lifecycle Manager.
//
// Load reads the file. Module.Check returns what is wrong with its content.
package config

import (
	"path/filepath"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// FileName is the name of the configuration file in a module's folder.
const FileName = "module-config.yaml"

// Defaults of optional fields.
const (
	// DefaultNamespace is the namespace of the control plane's resources
	// (docs/contract.md#field-managers-and-namespaces).
	DefaultNamespace = "kcp-system"
	// DefaultProvider is the default provider in the component descriptor.
	DefaultProvider = "kyma-project.io"
)

// Module is the content of module-config.yaml. Its paths are relative to the folder of that file.
type Module struct {
	// Name is the name of the OCM component: a DNS name and at least one path
	// segment, such as kyma-project.io/module/sample.
	Name string `json:"name"`
	// ModuleName is the name of the module in a Kyma's list, such as sample.
	ModuleName string `json:"moduleName"`
	// Version is a semantic version without build metadata.
	Version string `json:"version"`
	// Provider of the component. Empty means DefaultProvider.
	Provider string `json:"provider,omitempty"`

	// Manifest is a YAML file, a list of YAML files, or a directory of them. Exactly one of Manifest and Chart must be
	// set.
	Manifest Paths `json:"manifest,omitempty"`
	// Chart is a directory or a .tgz archive with a Helm chart.
	Chart string `json:"chart,omitempty"`
	// Values is a YAML file of values for Chart.
	Values string `json:"values,omitempty"`
	// DefaultCR is a YAML file with the module's default custom resource.
	DefaultCR string `json:"defaultCR,omitempty"`
	// ClusterScoped must be true if the default custom resource has no namespace.
	ClusterScoped bool `json:"clusterScoped,omitempty"`

	// Namespace of ModuleTemplate and ModuleReleaseMeta. Empty means DefaultNamespace.
	Namespace string `json:"namespace,omitempty"`
	// Channels to assign versions to: NAME gets this version, NAME=VERSION gets another version.
	Channels []string `json:"channels,omitempty"`
	// Mandatory gives the module to every cluster. A mandatory module has no channels.
	Mandatory bool `json:"mandatory,omitempty"`
	// Beta restricts the module to Kymas with the label beta.
	Beta bool `json:"beta,omitempty"`
	// Internal restricts the module to Kymas with the label internal.
	Internal bool `json:"internal,omitempty"`
	// RequiresDowntime makes an upgrade to this version wait for a maintenance window.
	RequiresDowntime bool `json:"requiresDowntime,omitempty"`
	// Target is control-plane or remote. If empty, the Kyma decides.
	Target v1beta2.Target `json:"target,omitempty"`

	// Manager names the workload that runs the module's operator.
	Manager *v1beta2.Manager `json:"manager,omitempty"`
	// CustomStateChecks derive the state of a default custom resource that has no status.state.
	CustomStateChecks []v1beta2.CustomStateCheck `json:"customStateChecks,omitempty"`
	// AssociatedResources are the kinds that may hold data of the module's users.
	AssociatedResources []v1beta2.GroupVersionKind `json:"associatedResources,omitempty"`
	// Info contains links to more information about the module.
	Info *v1beta2.ModuleInfo `json:"info,omitempty"`
	// Resources are links to files that belong to this version.
	Resources []v1beta2.Resource `json:"resources,omitempty"`
	// Labels and Annotations of the ModuleTemplate.
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`

	// file is the path that the configuration was read from.
	file string
	// modulectl is true for a modulectl configuration. Then warnings lists its fields that have no effect.
	modulectl bool
	warnings  []Problem
}

// IsModulectl reports whether the configuration is a modulectl file. A modulectl file does not say whether the default
// custom resource has a namespace, but its CustomResourceDefinition does.
func (m Module) IsModulectl() bool { return m.modulectl }

// Warnings returns the fields that have no effect.
func (m Module) Warnings() []Problem { return m.warnings }

// File returns the path of the configuration file.
func (m Module) File() string { return m.file }

// Path resolves a path in the configuration against the folder of its file. It returns a URL unchanged.
func (m Module) Path(path string) string {
	if path == "" || filepath.IsAbs(path) || IsURL(path) {
		return path
	}
	return filepath.Join(filepath.Dir(m.file), path)
}
