package preflight

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	crds "github.com/kyma-project/lifecycle-manager/deploy/crds"
)

// publishedOf returns what an API server with these definitions publishes.
func publishedOf(t *testing.T, definitions map[string]*apiextensionsv1.CustomResourceDefinition) Published {
	t.Helper()
	published := Published{}
	for _, definition := range definitions {
		for _, version := range definition.Spec.Versions {
			if !version.Served {
				continue
			}
			raw, err := json.Marshal(version.Schema.OpenAPIV3Schema)
			require.NoError(t, err)
			var parsed schema
			require.NoError(t, json.Unmarshal(raw, &parsed))
			published[version.Name+"/"+definition.Spec.Names.Kind] = parsed
		}
	}
	return published
}

func own(t *testing.T) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	all, err := crds.All()
	require.NoError(t, err)
	return all
}

// fieldsOf returns the fields of spec or status in each version of a definition, to be changed.
func fieldsOf(definition *apiextensionsv1.CustomResourceDefinition, field string) []map[string]apiextensionsv1.JSONSchemaProps {
	var all []map[string]apiextensionsv1.JSONSchemaProps
	for i := range definition.Spec.Versions {
		all = append(all, definition.Spec.Versions[i].Schema.OpenAPIV3Schema.Properties[field].Properties)
	}
	return all
}

func TestDefinitionsOfThisBuildAreNotOlder(t *testing.T) {
	require.Empty(t, Older(publishedOf(t, own(t)), own(t)))
}

func TestDefinitionsOfANewerBuildAreNotOlder(t *testing.T) {
	newer := own(t)
	for _, fields := range fieldsOf(newer[crds.Kymas], "spec") {
		fields["ofTheFuture"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
	}
	require.Empty(t, Older(publishedOf(t, newer), own(t)))
}

func TestDefinitionsAreOlderIfTheyLackFieldsOrValuesOfTheBuild(t *testing.T) {
	for name, test := range map[string]struct {
		change func(all map[string]*apiextensionsv1.CustomResourceDefinition)
		older  map[string][]string
	}{
		"a field of the status": {func(all map[string]*apiextensionsv1.CustomResourceDefinition) {
			for _, fields := range fieldsOf(all[crds.Manifests], "status") {
				delete(fields, "inventory")
			}
		}, map[string][]string{crds.Manifests: {".status.inventory"}}},
		"a field in a list": {func(all map[string]*apiextensionsv1.CustomResourceDefinition) {
			for _, fields := range fieldsOf(all[crds.Kymas], "spec") {
				delete(fields["modules"].Items.Schema.Properties, "managed")
			}
		}, map[string][]string{crds.Kymas: {".spec.modules[].managed"}}},
		"a value that is allowed": {func(all map[string]*apiextensionsv1.CustomResourceDefinition) {
			for _, fields := range fieldsOf(all[crds.Kymas], "status") {
				state := fields["state"]
				state.Enum = []apiextensionsv1.JSON{{Raw: []byte(`"Ready"`)}, {Raw: []byte(`"Error"`)}, {Raw: []byte(`"Processing"`)}, {Raw: []byte(`"Deleting"`)}, {Raw: []byte(`""`)}, {Raw: []byte(`"Warning"`)}}
				fields["state"] = state
			}
		}, map[string][]string{crds.Kymas: {".status.state: Unmanaged"}}},
		"a version": {func(all map[string]*apiextensionsv1.CustomResourceDefinition) {
			versions := all[crds.Kymas].Spec.Versions
			for i := range versions {
				versions[i].Served = versions[i].Name != "v1alpha1"
			}
		}, map[string][]string{crds.Kymas: {"version v1alpha1"}}},
	} {
		t.Run(name, func(t *testing.T) {
			there := own(t)
			test.change(there)
			require.Equal(t, test.older, Older(publishedOf(t, there), own(t)))
		})
	}
}

func TestAMissingDefinitionIsReportedAsMissing(t *testing.T) {
	there := own(t)
	delete(there, crds.Watchers)
	findings := judgeDefinitions(publishedOf(t, there), nil)
	require.Equal(t, []Finding{{
		Subject: "CustomResourceDefinitions", Result: Failed, Message: "watchers.operator.kyma-project.io is missing",
		Remedy: "lifecycle-manager crds | kubectl apply --server-side -f -",
	}}, findings)
}
