package e2e

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// tiny is a module that is one ConfigMap of its name, in its Kyma's remote namespace.
type tiny struct {
	name string
	// version is 1.0.0 by default.
	version string
	// channels are those of module-config.yaml, such as `fast, regular=1.0.0`; without any, nothing but the
	// ModuleTemplate is announced.
	channels string
	// config are further lines of module-config.yaml.
	config string
	// manifest is what it is made of; one ConfigMap by default.
	manifest string
	// templates are those of the Helm chart that it is instead of a manifest, as one file.
	templates string
	// namespace is where the module is announced; the control plane's by default.
	namespace string
	// pushFlags are further flags of module push.
	pushFlags []string
}

// pushTiny pushes a tiny module and announces it in the channel regular.
func (s *stage) pushTiny(module string) {
	s.t.Helper()
	s.pushOne(tiny{name: module, channels: "regular"})
}

// pushOne pushes a tiny module and announces it.
func (s *stage) pushOne(module tiny) {
	s.t.Helper()
	s.apply(s.controlPlane, cmp.Or(module.namespace, controlPlaneNamespace), s.pack(module))
}

// pack pushes a tiny module and returns what announces it.
func (s *stage) pack(module tiny) []byte {
	s.t.Helper()
	lines := []string{
		"name: kyma-project.io/module/" + module.name,
		"moduleName: " + module.name,
		"version: " + cmp.Or(module.version, "1.0.0"),
	}
	if module.templates == "" {
		lines = append(lines, "manifest: manifest.yaml")
	} else {
		lines = append(lines, "chart: chart")
	}
	if module.channels != "" {
		lines = append(lines, "channels: ["+module.channels+"]")
	}
	if module.namespace != "" {
		lines = append(lines, "namespace: "+module.namespace)
	}
	folder := s.t.TempDir()
	files := map[string]string{
		"module-config.yaml": strings.Join(append(lines, module.config), "\n") + "\n",
		"manifest.yaml": cmp.Or(module.manifest, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\ndata:\n  version: %s\n",
			module.name, cmp.Or(module.version, "1.0.0"))),
	}
	if module.templates != "" {
		files["chart/Chart.yaml"] = fmt.Sprintf("apiVersion: v2\nname: %s\nversion: %s\n", module.name, cmp.Or(module.version, "1.0.0"))
		files["chart/templates/all.yaml"] = module.templates
	}
	for name, content := range files {
		path := filepath.Join(folder, filepath.FromSlash(name))
		require.NoError(s.t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(s.t, os.WriteFile(path, []byte(content), 0o600))
	}
	return s.run(testfleet.Binary(s.t, "module"), append([]string{"push", folder, "--registry", s.registry, "--plain-http"}, module.pushFlags...)...)
}

// tinyVersion is the version of a tiny module that is in the remote cluster; empty where none is.
func (s *stage) tinyVersion(namespace, module string) string {
	s.t.Helper()
	var found corev1.ConfigMap
	err := s.remote.Get(ctx(s.t), client.ObjectKey{Namespace: namespace, Name: module}, &found)
	if client.IgnoreNotFound(err) == nil && err != nil {
		return ""
	}
	require.NoError(s.t, err)
	return found.Data["version"]
}

// announceEmpty creates a ModuleTemplate that nothing can be installed from, for modules that are refused before.
func (s *stage) announceEmpty(name, module string, change func(*v1beta2.ModuleTemplate)) {
	s.t.Helper()
	template := &v1beta2.ModuleTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: controlPlaneNamespace, Labels: map[string]string{}},
		Spec:       v1beta2.ModuleTemplateSpec{ModuleName: module, Descriptor: &runtime.RawExtension{Raw: []byte("{}")}},
	}
	change(template)
	require.NoError(s.t, s.controlPlane.Create(ctx(s.t), template))
}

// newSynced is a Kyma whose remote Kyma and modules are in a namespace of its own, so that many of them can share
// one remote cluster.
func newSynced(name string, modules ...string) *v1beta2.Kyma {
	kyma := newKyma(name, modules...)
	on, off := true, false
	kyma.Spec.Sync = &v1beta2.Sync{Enabled: &on, Namespace: name, ModuleCatalog: &off}
	return kyma
}
