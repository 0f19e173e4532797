package e2e

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/deploy/crds"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/cluster"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// migratedKinds are the kinds with an earlier generation, by the names of their definitions.
var migratedKinds = map[string]string{crds.Kymas: "Kyma", crds.Manifests: "Manifest", crds.ModuleTemplates: "ModuleTemplate", crds.Watchers: "Watcher"}

// A control plane in which an earlier generation has stored objects in v1beta1 gets the definitions of this build. The
// leader rewrites the objects once the chart has given it the rights to, after which v1beta1 can be dropped; without these
// it says what an administrator has to run, who can.
func TestTheLeaderMigratesWhatAnEarlierGenerationStored(t *testing.T) {
	s := harness.NewEnvironment(t)
	for name := range migratedKinds {
		editVersions(s, name, func(version *apiextensionsv1.CustomResourceDefinitionVersion) bool {
			version.Storage = version.Name == "v1beta1"
			return true
		})
	}
	s.PushMinimal("fine")
	watcher := &v1beta2.Watcher{ObjectMeta: metav1.ObjectMeta{Name: "events", Namespace: harness.ControlPlaneNamespace}, Spec: v1beta2.WatcherSpec{
		ServiceInfo:     v1beta2.ServiceInfo{Name: "events", Port: 80, Namespace: harness.ControlPlaneNamespace},
		ResourceToWatch: v1beta2.WatchableGVR{Version: "v1", Resource: "configmaps"}, Field: v1beta2.WatchedFieldSpec,
	}}
	require.NoError(t, s.ControlPlane.Create(t.Context(), watcher))
	t.Cleanup(func() { _ = s.ControlPlane.Delete(context.WithoutCancel(t.Context()), watcher) })
	s.Instance.Start()
	s.Create(harness.NewKyma("stored", "fine"))
	s.BecomesReady("stored", "fine@1.0.0")
	s.Instance.Stop()

	t.Log("the definitions of this build, and an instance without the rights")
	cluster.InstallDefinitions(t, s.ControlPlane)
	s.Instance.Start()
	s.Instance.Says("lifecycle-manager crds migrate", time.Minute)
	for name := range migratedKinds {
		require.Contains(t, storedVersions(s, name), "v1beta1", name)
	}
	s.Instance.Stop()
	before := allOfKinds(s)
	remote := s.Remote.AtRest(t)

	t.Log("with the rights")
	flags := s.Instance.Flags
	s.Instance.Values = map[string]any{"crds": map[string]any{"migrateStoredVersions": true}}
	s.Instance.Flags = append(slices.Clone(flags), "--role", "watchers") // a worker's rights cover some of them
	s.Instance.Launch()
	s.Eventually("all is stored in v1beta2", 3*time.Minute, func(c *assert.CollectT) {
		for name := range migratedKinds {
			assert.Equal(c, []string{"v1beta2"}, storedVersions(s, name), name)
		}
	})
	after := allOfKinds(s)
	require.Equal(t, slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after)))
	for key, object := range before {
		require.NotEqual(t, object.GetResourceVersion(), after[key].GetResourceVersion(), "%s was stored in v1beta1", key)
		object.SetResourceVersion(after[key].GetResourceVersion())
		require.Equal(t, object, after[key], key)
	}
	s.Instance.Stop()
	s.Instance.Values, s.Instance.Flags = nil, flags
	s.Instance.Start()
	require.Equal(t, remote, s.Remote.AtRest(t), "a rewritten object is no change that anybody acts on")
	s.Instance.Stop()

	t.Log("a release without v1beta1")
	for name := range migratedKinds {
		editVersions(s, name, func(version *apiextensionsv1.CustomResourceDefinitionVersion) bool { return version.Name == "v1beta2" })
	}
	require.Equal(t, slices.Sorted(maps.Keys(after)), slices.Sorted(maps.Keys(allOfKinds(s))))

	t.Log("an administrator, after a roll-back to definitions that stored v1beta1")
	cluster.InstallDefinitions(t, s.ControlPlane)
	editVersions(s, crds.Kymas, func(version *apiextensionsv1.CustomResourceDefinitionVersion) bool {
		version.Storage = version.Name == "v1beta1"
		return true
	})
	cluster.InstallDefinitions(t, s.ControlPlane)
	require.ElementsMatch(t, []string{"v1beta1", "v1beta2"}, storedVersions(s, crds.Kymas))
	said := string(s.Run(testfleet.Binary(t, "lifecycle-manager"), "crds", "migrate", "--kubeconfig", s.ControlPlane.Kubeconfig))
	require.Contains(t, said, "kymas.operator.kyma-project.io: 1 objects may be stored in v1beta1, rewriting them in v1beta2\n")
	for name := range migratedKinds {
		require.Contains(t, said, name+": no object is stored in an older version than v1beta2\n")
		require.Equal(t, []string{"v1beta2"}, storedVersions(s, name), name)
	}
}

// editVersions changes the versions of a definition, and keeps those for which change returns true.
func editVersions(s *harness.Environment, name string, change func(*apiextensionsv1.CustomResourceDefinitionVersion) bool) {
	s.T.Helper()
	definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
	harness.EditObject(s.T, s.ControlPlane, definition, func() {
		var kept []apiextensionsv1.CustomResourceDefinitionVersion
		for _, version := range definition.Spec.Versions {
			if change(&version) {
				kept = append(kept, version)
			}
		}
		definition.Spec.Versions = kept
	})
}

func storedVersions(s *harness.Environment, name string) []string {
	s.T.Helper()
	definition := &apiextensionsv1.CustomResourceDefinition{}
	require.NoError(s.T, s.ControlPlane.Get(s.T.Context(), client.ObjectKey{Name: name}, definition))
	return definition.Status.StoredVersions
}

// allOfKinds are the objects of these kinds in the control plane. There is one of each.
func allOfKinds(s *harness.Environment) map[string]*unstructured.Unstructured {
	s.T.Helper()
	all := map[string]*unstructured.Unstructured{}
	for _, kind := range migratedKinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(v1beta2.GroupVersion.WithKind(kind + "List"))
		require.NoError(s.T, s.ControlPlane.List(s.T.Context(), list))
		require.Len(s.T, list.Items, 1, kind)
		all[kind+" "+list.Items[0].GetName()] = &list.Items[0]
	}
	return all
}
