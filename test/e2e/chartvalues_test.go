package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/chart"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// assertAccepted requires that each combination of values that the chart documents makes objects that an API server accepts.
func assertAccepted(t *testing.T, s *harness.Environment) {
	t.Helper()
	applyMonitoringDefinitions(s)
	files, err := filepath.Glob(filepath.Join(testfleet.Root(t), "deploy", "helm", "lifecycle-manager", "ci", "*-values.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		var values map[string]any
		require.NoError(t, yaml.UnmarshalStrict(content, &values))
		namespaces, _ := values["namespaces"].([]any)
		for _, namespace := range append(namespaces, values["accessSecretNamespace"], "istio-system") {
			if name, _ := namespace.(string); name != "" && name != harness.ControlPlaneNamespace {
				s.EnsureNamespace(s.ControlPlane, name)
				t.Cleanup(func() { s.RemoveNamespaces(s.ControlPlane, name) })
			}
		}
		out, err := exec.CommandContext(t.Context(), helmProgram(t), "lint", "--strict", "--kube-version", "1.36.1", "--values", file, filepath.Dir(filepath.Dir(file))).CombinedOutput()
		require.NoError(t, err, "%s: %s", filepath.Base(file), out)
		for _, object := range (chart.Release{Name: "accepted", Namespace: harness.ControlPlaneNamespace, Values: values}).Objects(t) {
			err := s.ControlPlane.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("e2e"), client.ForceOwnership, client.DryRunAll)
			require.NoError(t, err, "%s: %s %s", filepath.Base(file), object.GetKind(), object.GetName())
		}
	}
}

// applyMonitoringDefinitions gives the control plane the definitions of the Prometheus operator, which the chart has objects of.
func applyMonitoringDefinitions(s *harness.Environment) {
	s.T.Helper()
	command := exec.CommandContext(s.T.Context(), "go", "mod", "download", "-json", "github.com/prometheus-operator/prometheus-operator")
	command.Dir = filepath.Join(testfleet.Root(s.T), "test", "modules", "upstream")
	out, err := command.Output()
	require.NoError(s.T, err)
	var module struct{ Dir string }
	require.NoError(s.T, yaml.Unmarshal(out, &module))
	for _, name := range []string{"servicemonitors", "podmonitors", "prometheusrules"} {
		content, err := os.ReadFile(filepath.Join(module.Dir, "example", "prometheus-operator-crd", "monitoring.coreos.com_"+name+".yaml"))
		require.NoError(s.T, err)
		definition := &apiextensionsv1.CustomResourceDefinition{}
		require.NoError(s.T, yaml.Unmarshal(content, definition))
		require.NoError(s.T, client.IgnoreAlreadyExists(s.ControlPlane.Create(s.T.Context(), definition)))
		s.T.Cleanup(func() { _ = s.ControlPlane.Delete(context.Background(), definition) })
		s.Eventually("there are "+name, time.Minute, func(c *assert.CollectT) {
			require.NoError(c, s.ControlPlane.Get(s.T.Context(), client.ObjectKeyFromObject(definition), definition))
			assert.True(c, established(definition))
		})
	}
}

func established(definition *apiextensionsv1.CustomResourceDefinition) bool {
	for _, condition := range definition.Status.Conditions {
		if condition.Type == apiextensionsv1.Established {
			return condition.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}
