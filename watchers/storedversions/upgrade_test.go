package storedversions

import (
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kyma-project/lifecycle-manager/deploy/crds"
)

// added lists the fields of a Manifest that the older release in this test does not know.
var added = [][]string{{"status", "inventory"}, {"status", "defaultCR"}, {"spec", "resource"}}

// The older release stores v1beta1 and lacks some fields. The newer release is this build. Both work side by side
// during an upgrade, and the older release works alone again after the processes are rolled back.
func TestAnUpgradeThatAddsFieldsKeepsTheWritesOfOlderInstances(t *testing.T) {
	s := newStand(t)
	name := s.name(crds.Manifests)
	older := s.definition(crds.Manifests, v1beta1)
	for i := range older.Spec.Versions {
		for _, path := range added {
			drop(older.Spec.Versions[i].Schema.OpenAPIV3Schema, path)
		}
	}
	s.install(older)
	manifest := s.object(crds.Manifests, v1beta1, s.namespace, "manifest")
	written := fromOlder(t, contents[crds.Manifests])
	manifest.Object["spec"] = written["spec"]
	delete(manifest.Object, "status")
	require.NoError(t, s.Create(t.Context(), manifest, client.FieldOwner("older"), client.FieldValidation("Strict")))
	manifest.Object["status"] = written["status"]
	require.NoError(t, s.Status().Update(t.Context(), manifest, client.FieldOwner("older"), client.FieldValidation("Strict")))
	before := s.now(manifest, v1beta2)

	t.Log("the definitions of this build are applied, and what is stored is migrated")
	s.store(s.definition(crds.Manifests, v1beta2))
	s.same(before, s.now(manifest, v1beta2))
	_, err := s.migrator(s).Migrate(t.Context(), name, nothing)
	require.NoError(t, err)
	s.same(before, s.now(manifest, v1beta2))

	t.Log("this build writes the fields that were added")
	newer := s.now(manifest, v1beta2)
	patched := newer.DeepCopy()
	all := decode(t, contents[crds.Manifests])
	for _, path := range added {
		value, found, err := unstructured.NestedFieldCopy(all, path...)
		require.NoError(t, err)
		require.True(t, found)
		require.NoError(t, unstructured.SetNestedField(patched.Object, value, path...))
	}
	require.NoError(t, s.Patch(t.Context(), patched.DeepCopy(), client.MergeFrom(newer), client.FieldOwner("newer")))
	require.NoError(t, s.Status().Patch(t.Context(), patched.DeepCopy(), client.MergeFrom(newer), client.FieldOwner("newer")))
	after := s.now(manifest, v1beta2)
	require.Equal(t, all["spec"], after.Object["spec"])
	require.Equal(t, all["status"], after.Object["status"])

	t.Log("an older instance, which does not know them, changes what it knows by a patch, and by an apply")
	seen := s.now(manifest, v1beta1)
	for _, path := range added { // its types lack these fields, so it leaves them out
		unstructured.RemoveNestedField(seen.Object, path...)
	}
	changed := seen.DeepCopy()
	require.NoError(t, unstructured.SetNestedField(changed.Object, "Processing", "status", "state"))
	require.NoError(t, s.Status().Patch(t.Context(), changed, client.MergeFromWithOptions(seen, client.MergeFromWithOptimisticLock{}), client.FieldOwner("older")))
	applied := &unstructured.Unstructured{}
	applied.SetGroupVersionKind(manifest.GroupVersionKind())
	applied.SetNamespace(manifest.GetNamespace())
	applied.SetName(manifest.GetName())
	require.NoError(t, unstructured.SetNestedField(applied.Object, "1.1.0", "spec", "version"))
	require.NoError(t, s.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(applied), client.FieldOwner("older-applier"), client.ForceOwnership))
	after = s.now(manifest, v1beta2)
	require.NoError(t, unstructured.SetNestedField(all, "Processing", "status", "state"))
	require.NoError(t, unstructured.SetNestedField(all, "1.1.0", "spec", "version"))
	require.Equal(t, all["spec"], after.Object["spec"])
	require.Equal(t, all["status"], after.Object["status"])
}

// drop removes a property from a schema.
func drop(schema *apiextensionsv1.JSONSchemaProps, path []string) {
	if len(path) == 1 {
		delete(schema.Properties, path[0])
		return
	}
	below := schema.Properties[path[0]]
	drop(&below, path[1:])
	schema.Properties[path[0]] = below
}

// fromOlder returns an object as an older release writes it.
func fromOlder(t *testing.T, content string) map[string]any {
	t.Helper()
	object := decode(t, content)
	for _, path := range added {
		unstructured.RemoveNestedField(object, path...)
	}
	return object
}

func decode(t *testing.T, content string) map[string]any {
	t.Helper()
	var object map[string]any
	encoded, err := yaml.YAMLToJSON([]byte(content))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(encoded, &object)) // whole numbers as clients of an API server have them
	return object
}
