// Package chart renders the chart of Lifecycle Manager (deploy/helm), for tests that work with what it makes: its accounts
// and roles, and the command lines of its processes.
package chart

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// Load loads the chart.
func Load(t testing.TB) *chart.Chart {
	t.Helper()
	loaded, err := loader.Load(filepath.Join(testfleet.Root(t), "deploy", "helm", "lifecycle-manager"))
	require.NoError(t, err)
	return loaded
}

// Release is what the chart makes of values.
type Release struct {
	// Name and Namespace are the release's.
	Name, Namespace string
	Values          map[string]any
}

// Objects renders the release and returns its objects in the order of their files. Values that the schema refuses fail the
// test.
func (r Release) Objects(t testing.TB) []*unstructured.Unstructured {
	t.Helper()
	rendered, err := engine.Render(Load(t), r.values(t))
	require.NoError(t, err)
	var objects []*unstructured.Unstructured
	for _, path := range slices.Sorted(maps.Keys(rendered)) {
		if filepath.Ext(path) != ".yaml" {
			continue
		}
		for _, document := range strings.Split("\n"+rendered[path], "\n---") {
			object := &unstructured.Unstructured{}
			require.NoError(t, yaml.UnmarshalStrict([]byte(document), &object.Object), "%s:\n%s", path, document)
			if len(object.Object) > 0 {
				objects = append(objects, object)
			}
		}
	}
	return objects
}

// values are those of the release, over those of the chart.
func (r Release) values(t testing.TB) chartutil.Values {
	t.Helper()
	options := chartutil.ReleaseOptions{Name: r.Name, Namespace: r.Namespace, IsInstall: true}
	// As they come out of a file: a list of anything.
	content, err := yaml.Marshal(r.Values)
	require.NoError(t, err)
	given := map[string]any{}
	require.NoError(t, yaml.Unmarshal(content, &given))
	values, err := chartutil.ToRenderValues(Load(t), given, options, chartutil.DefaultCapabilities)
	require.NoError(t, err)
	return values
}
