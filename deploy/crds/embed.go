// Package crds embeds the CustomResourceDefinitions of Lifecycle Manager. Programs use it to install them into remote
// clusters and into the clusters of tests. `make generate` generates the files from the Go types.
package crds

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// Names of the CustomResourceDefinitions.
const (
	Kymas              = "kymas.operator.kyma-project.io"
	ModuleTemplates    = "moduletemplates.operator.kyma-project.io"
	ModuleReleaseMetas = "modulereleasemetas.operator.kyma-project.io"
	Manifests          = "manifests.operator.kyma-project.io"
	Watchers           = "watchers.operator.kyma-project.io"
	RolloutPolicies    = "rolloutpolicies.operator.kyma-project.io"
	ModuleRollouts     = "modulerollouts.operator.kyma-project.io"
	RemovalBudgets     = "removalbudgets.operator.kyma-project.io"
	RemoteAgents       = "remoteagents.operator.kyma-project.io"
)

// ErrUnknown is wrapped by the error that Get returns for an unknown name.
var ErrUnknown = errors.New("unknown CustomResourceDefinition")

// Files has one YAML file per CustomResourceDefinition, for example for `kubectl apply`.
//
//go:embed *.yaml
var Files embed.FS

// All returns all CustomResourceDefinitions by name. The caller may change them.
func All() (map[string]*apiextensionsv1.CustomResourceDefinition, error) {
	definitions, err := parsed()
	if err != nil {
		return nil, err
	}
	copies := make(map[string]*apiextensionsv1.CustomResourceDefinition, len(definitions))
	for name, definition := range definitions {
		copies[name] = definition.DeepCopy()
	}
	return copies, nil
}

// parsed returns the shared originals. Parsing them takes a tenth of a second.
//
//nolint:gochecknoglobals // it never changes
var parsed = sync.OnceValues(func() (map[string]*apiextensionsv1.CustomResourceDefinition, error) {
	paths, err := fs.Glob(Files, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list the embedded CustomResourceDefinitions: %w", err)
	}
	definitions := make(map[string]*apiextensionsv1.CustomResourceDefinition, len(paths))
	for _, path := range paths {
		content, err := Files.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read the embedded %s: %w", path, err)
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(content, definition); err != nil {
			return nil, fmt.Errorf("parse the embedded %s: %w", path, err)
		}
		definitions[definition.Name] = definition
	}
	return definitions, nil
})

// Get returns the named CustomResourceDefinitions in the given order. The error wraps ErrUnknown if a name is unknown.
func Get(names ...string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	all, err := All()
	if err != nil {
		return nil, err
	}
	found := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(names))
	for _, name := range names {
		definition, ok := all[name]
		if !ok {
			return nil, fmt.Errorf("%w: %s", ErrUnknown, name)
		}
		found = append(found, definition)
	}
	return found, nil
}
