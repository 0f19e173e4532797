package harness

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/test/harness/cluster"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// MinimalModule is a module that is one ConfigMap of its name, in its Kyma's remote namespace.
type MinimalModule struct {
	Name string
	// Version is 1.0.0 by default.
	Version string
	// Channels are those of module-config.yaml, such as `fast, regular=1.0.0`; without any, the catalog
	// has the ModuleTemplate only.
	Channels string
	// Config are further lines of module-config.yaml.
	Config string
	// Manifest is what it is made of; one ConfigMap by default.
	Manifest string
	// DefaultCR is its default custom resource; none by default.
	DefaultCR string
	// Templates are those of the Helm chart that it is instead of a manifest, as one file.
	Templates string
	// Namespace is where its catalog entries are; the control plane's by default.
	Namespace string
	// PushFlags are further flags of module push.
	PushFlags []string
}

// PushMinimal pushes a minimal module and adds it to the channel regular.
func (s *Environment) PushMinimal(module string) {
	s.T.Helper()
	s.PushModule(MinimalModule{Name: module, Channels: "regular"})
}

// PushModule pushes a minimal module and adds it to the catalog.
func (s *Environment) PushModule(module MinimalModule) {
	s.T.Helper()
	s.Apply(s.ControlPlane, cmp.Or(module.Namespace, ControlPlaneNamespace), s.Pack(module))
}

// Pack pushes a minimal module and returns its catalog entries as YAML documents.
func (s *Environment) Pack(module MinimalModule) []byte {
	s.T.Helper()
	lines := []string{
		"name: kyma-project.io/module/" + module.Name,
		"moduleName: " + module.Name,
		"version: " + cmp.Or(module.Version, "1.0.0"),
	}
	if module.Templates == "" {
		lines = append(lines, "manifest: manifest.yaml")
	} else {
		lines = append(lines, "chart: chart")
	}
	if module.Channels != "" {
		lines = append(lines, "channels: ["+module.Channels+"]")
	}
	if module.Namespace != "" {
		lines = append(lines, "namespace: "+module.Namespace)
	}
	if module.DefaultCR != "" {
		lines = append(lines, "defaultCR: default-cr.yaml")
	}
	folder := s.T.TempDir()
	files := map[string]string{
		"module-config.yaml": strings.Join(append(lines, module.Config), "\n") + "\n",
		"manifest.yaml": cmp.Or(module.Manifest, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\ndata:\n  version: %s\n",
			module.Name, cmp.Or(module.Version, "1.0.0"))),
	}
	if module.Templates != "" {
		files["chart/Chart.yaml"] = fmt.Sprintf("apiVersion: v2\nname: %s\nversion: %s\n", module.Name, cmp.Or(module.Version, "1.0.0"))
		files["chart/templates/all.yaml"] = module.Templates
	}
	if module.DefaultCR != "" {
		files["default-cr.yaml"] = module.DefaultCR
	}
	for name, content := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		require.NoError(s.T, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(s.T, os.WriteFile(path, []byte(content), 0o600))
	}
	return s.Run(testfleet.Binary(s.T, "module"), append([]string{"push", folder, "--registry", s.Registry, "--plain-http"}, module.PushFlags...)...)
}

// MinimalVersion is the version of a minimal module in the remote cluster; empty where none is installed.
func (s *Environment) MinimalVersion(namespace, module string) string {
	s.T.Helper()
	var found corev1.ConfigMap
	err := s.Remote.Get(s.T.Context(), client.ObjectKey{Namespace: namespace, Name: module}, &found)
	if apierrors.IsNotFound(err) {
		return ""
	}
	require.NoError(s.T, err)
	return found.Data["version"]
}

// MinimalUIDs are the UIDs of the ConfigMaps of a minimal module in a cluster, by namespace.
func (s *Environment) MinimalUIDs(t *testing.T, c cluster.Cluster, module string) map[string]types.UID {
	t.Helper()
	var list corev1.ConfigMapList
	require.NoError(t, c.List(t.Context(), &list, client.MatchingFields{"metadata.name": module}))
	found := map[string]types.UID{}
	for _, configMap := range list.Items {
		found[configMap.Namespace] = configMap.UID
	}
	return found
}
