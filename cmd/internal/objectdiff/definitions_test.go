package objectdiff

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

const definition = `
scope: Namespaced
versions:
- name: v1alpha1
  served: true
  storage: false
  schema: {openAPIV3Schema: {type: object}}
- name: v1
  served: true
  storage: true
  schema:
    openAPIV3Schema:
      type: object
      properties:
        metadata: {type: object}
        spec:
          type: object
          properties:
            text: {type: string}
            number: {type: integer}
            free: {type: object, x-kubernetes-preserve-unknown-fields: true}
            labels: {type: object, additionalProperties: {type: string}}
            list: {type: array, items: {type: object, properties: {a: {type: string}, b: {type: string}}}}
`

func TestTheRisksOfAChangedDefinition(t *testing.T) {
	for name, test := range map[string]struct {
		// from is replaced with to.
		from, to string
		want     []Risk
	}{
		"nothing":                   {"scope: Namespaced", "scope: Namespaced", nil},
		"another scope":             {"scope: Namespaced", "scope: Cluster", []Risk{{DataLoss, "the scope changes from Namespaced to Cluster"}}},
		"a version less":            {"- name: v1alpha1", "- name: v1alpha2", []Risk{{DataLoss, "version v1alpha1 is removed"}}},
		"the stored version less":   {"- name: v1\n", "- name: v2\n", []Risk{{DataLoss, "version v1 is removed, in which objects are stored"}}},
		"a version not served":      {"served: true\n  storage: false", "served: false\n  storage: false", []Risk{{DataLoss, "version v1alpha1 is no longer served"}}},
		"a field more":              {"text: {type: string}", "text: {type: string}\n            more: {type: string}", nil},
		"a field less":              {"text: {type: string}\n", "\n", []Risk{{DataLoss, "version v1: .spec.text is removed"}}},
		"a field of items less":     {", b: {type: string}", "", []Risk{{DataLoss, "version v1: .spec.list[*].b is removed"}}},
		"metadata is not described": {"metadata: {type: object}", "", nil},
		"all kept from now on": {
			"type: object\n          properties:\n            text: {type: string}", "type: object\n          x-kubernetes-preserve-unknown-fields: true\n          properties:", nil,
		},
		"another type":              {"text: {type: string}", "text: {type: integer}", []Risk{{DataLoss, "version v1: .spec.text changes its type from string to integer"}}},
		"a wider type":              {"number: {type: integer}", "number: {type: number}", nil},
		"a number or a text":        {"number: {type: integer}", "number: {x-kubernetes-int-or-string: true}", nil},
		"a text that was any":       {"number: {type: integer}", "number: {type: array}", []Risk{{DataLoss, "version v1: .spec.number changes its type from integer to array"}}},
		"values of another type":    {"additionalProperties: {type: string}", "additionalProperties: {type: integer}", []Risk{{DataLoss, "version v1: .spec.labels[*] changes its type from string to integer"}}},
		"no keys of any name":       {", additionalProperties: {type: string}", "", []Risk{{DataLoss, "version v1: .spec.labels no longer has keys of any name"}}},
		"unknown fields are pruned": {", x-kubernetes-preserve-unknown-fields: true", "", []Risk{{DataLoss, "version v1: .spec.free no longer preserves unknown fields"}}},
		"a field becomes required":  {"spec:\n          type: object", "spec:\n          type: object\n          required: [text]", []Risk{{Invalid, "version v1: .spec.text becomes required"}}},
		"a field with a default becomes required": {
			"spec:\n          type: object\n          properties:\n            text: {type: string}",
			"spec:\n          type: object\n          required: [text]\n          properties:\n            text: {type: string, default: a}", nil,
		},
		"another version is stored": {
			"storage: false\n  schema: {openAPIV3Schema: {type: object}}\n- name: v1\n  served: true\n  storage: true",
			"storage: true\n  schema: {openAPIV3Schema: {type: object}}\n- name: v1\n  served: true\n  storage: false",
			[]Risk{{DataLoss, "stored as v1alpha1 instead of v1: .spec is removed"}},
		},
		"another version is stored, which a webhook converts": {
			"\nversions:\n- name: v1alpha1\n  served: true\n  storage: false\n  schema: {openAPIV3Schema: {type: object}}\n- name: v1\n  served: true\n  storage: true",
			"\nconversion: {strategy: Webhook}\nversions:\n- name: v1alpha1\n  served: true\n  storage: true\n  schema: {openAPIV3Schema: {type: object}}\n- name: v1\n  served: true\n  storage: false",
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, definition, test.from)
			require.Equal(t, test.want, Risks(specOf(t, definition), specOf(t, strings.Replace(definition, test.from, test.to, 1))))
		})
	}
}

func TestPrunedUnknownFieldsAreARisk(t *testing.T) {
	before, after := specOf(t, "preserveUnknownFields: true"+definition), specOf(t, definition)
	require.Equal(t, []Risk{{DataLoss, "unknown fields are no longer preserved"}}, Risks(before, after))
	require.Empty(t, Risks(after, before))
}

func specOf(t *testing.T, text string) apiextensionsv1.CustomResourceDefinitionSpec {
	t.Helper()
	var spec apiextensionsv1.CustomResourceDefinitionSpec
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), &spec))
	return spec
}
