package lifecycle

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
)

// keepYAML is what a module has beside its operator, in a Namespace of its own, and wants to outlive it.
const keepYAML = `
apiVersion: v1
kind: Namespace
metadata: {name: ID-data}
---
apiVersion: v1
kind: Secret
metadata: {name: password, namespace: ID-data, annotations: {helm.sh/resource-policy: keep}}
data: {password: Zmlyc3Q=}
---
`

const keptDataYAML = `
apiVersion: v1
kind: ConfigMap
metadata: {name: data, annotations: {helm.sh/resource-policy: " Keep "}}
data: {key: value}
---
`

// isReleased checks that an object exists and that nothing makes it a module's.
func (s *environment) isReleased(apiVersion, kind, namespace, name string) {
	s.Helper()
	u := s.get(apiVersion, kind, namespace, name)
	require.NotNil(s, u, "%s %s", kind, name)
	require.Nil(s, u.GetDeletionTimestamp())
	require.NotContains(s, u.GetLabels(), "operator.kyma-project.io/managed-by")
	require.NotContains(s, u.GetAnnotations(), "operator.kyma-project.io/owned-by")
	require.NotContains(s, u.GetAnnotations(), "operator.kyma-project.io/applied-digest")
}

func TestWhatHelmsAnnotationKeepsStaysInUpgradeAndRemoval(t *testing.T) {
	definition := strings.Replace(crdYAML, "metadata: {name: samples.ID.example.com}",
		"metadata: {name: samples.ID.example.com, annotations: {helm.sh/resource-policy: keep}}", 1)
	second := definition + operatorYAML + keepYAML
	s := newEnvironment(t, second+keptDataYAML, nil)
	s.installReady()
	mine := s.make("Sample", "mine", nil)

	s.recorded.take()
	s.update(func(m *v1beta2.Manifest) { m.Spec.Install.Source, m.Spec.Version = s.layer(second), "2.0.0" })
	s.installReady()
	s.isReleased("v1", "ConfigMap", "ID-remote", "data")
	for _, e := range s.read().Status.Inventory {
		require.NotContains(t, e.ID, "ConfigMap_"+s.id+"-remote_data")
	}
	events, _ := s.recorded.take()
	require.Contains(t, strings.Join(events, "\n"), "Normal *v1beta2.Kyma KeptByResourcePolicy: 1 of the objects of module sample stay in the cluster")

	s.delete()
	s.removedSoon()
	require.Nil(t, s.get("apps/v1", "Deployment", "ID-remote", "operator"))
	s.isReleased("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "samples.ID.example.com")
	require.Equal(t, mine.GetUID(), s.get("ID.example.com/v1", "Sample", "ID-remote", "mine").GetUID())
	s.isReleased("v1", "Secret", "ID-data", "password")
	require.Nil(t, s.get("v1", "Namespace", "", "ID-data").GetDeletionTimestamp(), "it has what stays")

	data := s.get("v1", "ConfigMap", "ID-remote", "data").GetUID()
	require.NoError(t, s.control.Delete(context.Background(), &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Namespace: s.id, Name: "kyma"}}))
	s.createManifest(second+keptDataYAML, nil)
	s.installReady()
	again := s.get("v1", "ConfigMap", "ID-remote", "data")
	require.Equal(t, data, again.GetUID(), "a later installation takes it over")
	require.Equal(t, s.id+"/"+s.manifest.Name, again.GetAnnotations()["operator.kyma-project.io/owned-by"])
}

// Its definition would take it along.
func TestADefaultCustomResourceThatHelmsAnnotationKeepsStaysWithItsDefinition(t *testing.T) {
	s := newEnvironment(t, moduleYAML, withDefaultCR)
	s.installReady()
	created := s.sample("default")
	patch := []byte(`{"metadata":{"annotations":{"helm.sh/resource-policy":"keep"}}}`)
	require.NoError(t, s.remote.Patch(context.Background(), created, client.RawPatch(types.MergePatchType, patch)))
	s.delete()
	s.removedSoon()
	s.isReleased("ID.example.com/v1", "Sample", "ID-remote", "default")
	s.isReleased("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "samples.ID.example.com")
}

func TestADefaultCustomResourceIsReadInAVersionThatIsServed(t *testing.T) {
	version := func(name string, served, storage string) string {
		return "  - {name: " + name + ", served: " + served + ", storage: " + storage + `, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`
	}
	module := func(versions ...string) string {
		head, _, _ := strings.Cut(crdYAML, "  - name: v1")
		return head + strings.Join(versions, "") + "---\n" + operatorYAML
	}
	s := newEnvironment(t, module(version("v1", "true", "true")), withDefaultCR)
	s.installReady()
	uid := s.read().Status.DefaultCR.UID

	upgrade := func(to, module, apiVersion string) {
		s.update(func(m *v1beta2.Manifest) {
			m.Spec.Install.Source, m.Spec.Version = s.layer(module), to
			if apiVersion != "" {
				m.Spec.Resource.Raw = []byte(strings.Replace(string(rawSample(s.id).Raw), ".example.com/v1", ".example.com/"+apiVersion, 1))
			}
		})
		s.installReady()
	}
	// The second version forgets to say in which version its default custom resource is.
	upgrade("2.0.0", module(version("v1", "true", "false"), version("v2", "true", "true")), "")
	require.Equal(t, s.id+".example.com/v1", s.read().Status.DefaultCR.APIVersion)
	upgrade("3.0.0", module(version("v1", "false", "false"), version("v2", "true", "true")), "")
	differs, _ := s.differs()
	require.Empty(t, differs)

	state := &unstructured.Unstructured{}
	state.SetAPIVersion(s.id + ".example.com/v2")
	state.SetKind("Sample")
	state.SetNamespace(s.id + "-remote")
	state.SetName("default")
	require.NoError(t, s.remote.Status().Patch(context.Background(), state, client.RawPatch(types.MergePatchType, []byte(`{"status":{"state":"Error"}}`))))
	differs, _ = s.differs()
	require.Equal(t, "the module changed its state", differs)
	require.Equal(t, shared.StateError, s.wait(readiness.Observed{State: shared.StateReady}).State)

	require.NoError(t, s.remote.Status().Patch(context.Background(), state, client.RawPatch(types.MergePatchType, []byte(`{"status":{"state":"Ready"}}`))))
	upgrade("4.0.0", module(version("v1", "false", "false"), version("v2", "true", "true")), "v2")
	require.Equal(t, s.id+".example.com/v2", s.read().Status.DefaultCR.APIVersion, "the record moves on")
	require.Equal(t, uid, s.read().Status.DefaultCR.UID)
	s.delete()
	s.removedSoon()
	require.Nil(t, s.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "samples.ID.example.com"))
}
