package e2e

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/cluster"
)

// configMapOf is the name of the ConfigMap that says which version of a module is installed.
func configMapOf(module string) string {
	if module == moduleSample {
		return "sample-operator"
	}
	return module
}

// wanted is what is to be in a cluster of what Lifecycle Manager installs, as kind, place and, where it says one, version.
func (m *mixedRun) wanted(remote int) []string {
	var all []string
	for _, k := range m.kymas {
		if k.remote != remote || !k.exists {
			continue
		}
		for module, channel := range k.modules {
			version := m.catalog.channels[module][channel]
			all = append(all, fmt.Sprintf("ConfigMap %s/%s %s", k.namespace, configMapOf(module), version))
			if module == moduleSample {
				all = append(all, objectsOfSample[version]...)
			}
		}
	}
	return all
}

// objectsOfSample are the objects of the sample module in its two versions, but for what both modules have.
var objectsOfSample = map[string][]string{
	"1.0.0": append([]string{"ConfigMap kyma-system/sample-operator-settings "}, commonOfSample...),
	"1.1.0": append([]string{"Service kyma-system/sample-operator-metrics "}, commonOfSample...),
}

var commonOfSample = []string{
	"CustomResourceDefinition /samples.sample.kyma-project.io ", "Sample kyma-system/default ", "ServiceAccount kyma-system/sample-operator ",
	"ClusterRole /sample-operator ", "ClusterRoleBinding /sample-operator ", "Role kyma-system/sample-operator ", "RoleBinding kyma-system/sample-operator ",
	"Deployment kyma-system/sample-operator ",
}

// installed is what is in a cluster of that.
func installed(t testing.TB, c cluster.Cluster) []string {
	t.Helper()
	var all []string
	for _, object := range c.All(t) {
		if cluster.IsInstalled(&object) || object.GroupVersionKind().Group == harness.SampleGVK.Group {
			var inside corev1.ConfigMap
			if object.Kind == "ConfigMap" {
				require.NoError(t, client.IgnoreNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(&object), &inside)))
			}
			all = append(all, fmt.Sprintf("%s %s/%s %s", object.Kind, object.Namespace, object.Name, inside.Data["version"]))
		}
	}
	return all
}
