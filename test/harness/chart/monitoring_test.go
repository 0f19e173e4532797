package chart_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// Annotations of alerts are templates of Prometheus, and legends of panels are Grafana's: Helm must not fill them in.
func TestAlertsAndDashboardsComeOutAsTheyAre(t *testing.T) {
	files := filepath.Join(testfleet.Root(t), "deploy", "helm", "lifecycle-manager", "files")
	spec, err := os.ReadFile(filepath.Join(files, "alerts.yaml"))
	require.NoError(t, err)
	var alerts map[string]any
	require.NoError(t, yaml.Unmarshal(spec, &alerts))
	dashboards := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(files, "dashboards", "*.json"))
	require.NoError(t, err)
	for _, path := range paths {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Contains(t, string(content), "{{", path)
		dashboards[filepath.Base(path)] = strings.TrimSpace(string(content))
	}
	require.Len(t, dashboards, 4)

	rendered := objects(t, "kcp-system", map[string]any{"monitoring": map[string]any{
		"rules": map[string]any{"enabled": true}, "dashboards": map[string]any{"enabled": true},
	}})
	found, rules := map[string]string{}, 0
	for _, object := range rendered {
		switch {
		case object.GetKind() == "PrometheusRule":
			rules++
			require.Equal(t, alerts, object.Object["spec"])
		case object.GetKind() == "ConfigMap" && object.GetLabels()["grafana_dashboard"] == "1":
			data, _, err := unstructured.NestedStringMap(object.Object, "data")
			require.NoError(t, err)
			for name, content := range data {
				found[name] = strings.TrimSpace(content)
			}
		}
	}
	require.Equal(t, 1, rules)
	require.Equal(t, dashboards, found)
}
