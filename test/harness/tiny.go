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

	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// Tiny is a module that is one ConfigMap of its name, in its Kyma's remote namespace.
type Tiny struct {
	Name string
	// Version is 1.0.0 by default.
	Version string
	// Channels are those of module-config.yaml, such as `fast, regular=1.0.0`; without any, nothing but the
	// ModuleTemplate is announced.
	Channels string
	// Config are further lines of module-config.yaml.
	Config string
	// Manifest is what it is made of; one ConfigMap by default.
	Manifest string
	// Templates are those of the Helm chart that it is instead of a manifest, as one file.
	Templates string
	// Namespace is where the module is announced; the control plane's by default.
	Namespace string
	// PushFlags are further flags of module push.
	PushFlags []string
}

// PushTiny pushes a tiny module and announces it in the channel regular.
func (s *Stage) PushTiny(module string) {
	s.T.Helper()
	s.PushOne(Tiny{Name: module, Channels: "regular"})
}

// PushOne pushes a tiny module and announces it.
func (s *Stage) PushOne(module Tiny) {
	s.T.Helper()
	s.Apply(s.ControlPlane, cmp.Or(module.Namespace, ControlPlaneNamespace), s.Pack(module))
}

// Pack pushes a tiny module and returns what announces it, as YAML documents.
func (s *Stage) Pack(module Tiny) []byte {
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
	for name, content := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		require.NoError(s.T, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(s.T, os.WriteFile(path, []byte(content), 0o600))
	}
	return s.Run(testfleet.Binary(s.T, "module"), append([]string{"push", folder, "--registry", s.Registry, "--plain-http"}, module.PushFlags...)...)
}

// TinyVersion is the version of a tiny module that is in the remote cluster; empty where none is.
func (s *Stage) TinyVersion(namespace, module string) string {
	s.T.Helper()
	var found corev1.ConfigMap
	err := s.Remote.Get(s.T.Context(), client.ObjectKey{Namespace: namespace, Name: module}, &found)
	if apierrors.IsNotFound(err) {
		return ""
	}
	require.NoError(s.T, err)
	return found.Data["version"]
}

// Tinies are the uids of what a tiny module has in a cluster, by namespace.
func (s *Stage) Tinies(t *testing.T, c Cluster, module string) map[string]types.UID {
	t.Helper()
	var list corev1.ConfigMapList
	require.NoError(t, c.List(t.Context(), &list, client.MatchingFields{"metadata.name": module}))
	found := map[string]types.UID{}
	for _, configMap := range list.Items {
		found[configMap.Namespace] = configMap.UID
	}
	return found
}
