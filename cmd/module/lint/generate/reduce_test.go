package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// published parses schemas from JSON.
func published(t *testing.T, given string) map[string]spec.Schema {
	t.Helper()
	schemas := map[string]spec.Schema{}
	require.NoError(t, json.Unmarshal([]byte(given), &schemas))
	return schemas
}

func TestReduceKeepsRequiredAndEnum(t *testing.T) {
	kept, err := reduce(published(t, `{
		"io.k8s.api.a.v1.Thing": {"description": "x", "required": ["spec"], "properties": {
			"metadata": {"$ref": "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"},
			"spec": {"$ref": "io.k8s.api.a.v1.Spec"},
			"status": {"$ref": "io.k8s.api.a.v1.Spec"}}},
		"io.k8s.api.a.v1.Spec": {"required": ["size"], "properties": {
			"size": {"type": "integer", "default": 1},
			"mode": {"type": "string", "enum": ["a", "b"]},
			"modes": {"type": "array", "items": {"type": "string", "enum": ["c"]}},
			"parts": {"additionalProperties": {"$ref": "io.k8s.api.a.v1.Part"}},
			"free": {"$ref": "io.k8s.api.a.v1.Free"}}},
		"io.k8s.api.a.v1.Part": {"required": ["name"], "properties": {"name": {"type": "string"}, "parts": {"items": {"$ref": "io.k8s.api.a.v1.Part"}}}},
		"io.k8s.api.a.v1.Free": {"properties": {"name": {"type": "string"}}},
		"io.k8s.api.a.v1.Unused": {"required": ["name"]}}`), []string{"io.k8s.api.a.v1.Thing"}, exceptions{})
	require.NoError(t, err)
	content, err := json.Marshal(kept)
	require.NoError(t, err)
	require.JSONEq(t, `{
		"io.k8s.api.a.v1.Thing": {"required": ["spec"], "properties": {"spec": {"$ref": "io.k8s.api.a.v1.Spec"}}},
		"io.k8s.api.a.v1.Spec": {"required": ["size"], "properties": {
			"mode": {"enum": ["a", "b"]},
			"modes": {"items": {"enum": ["c"]}},
			"parts": {"additionalProperties": {"$ref": "io.k8s.api.a.v1.Part"}}}},
		"io.k8s.api.a.v1.Part": {"required": ["name"]}}`, string(content))
}

func TestExceptionsAreLeftOut(t *testing.T) {
	kept, err := reduce(published(t, `{
		"io.k8s.api.a.v1.Thing": {"required": ["mode", "name", "size"], "properties": {
			"name": {"type": "string"}, "size": {"type": "integer"}, "mode": {"type": "string", "enum": ["a"]}}},
		"io.k8s.api.a.v1.Request": {"required": ["name"], "properties": {"name": {"type": "string"}}}}`),
		[]string{"io.k8s.api.a.v1.Request", "io.k8s.api.a.v1.Thing"}, exceptions{
			notRequired: map[string]string{"a.v1.Thing.name": "has a default"},
			notChecked:  map[string]string{"a.v1.Thing.mode": "is dropped", "a.v1.Request": "is not stored"},
		})
	require.NoError(t, err)
	require.Len(t, kept, 1)
	require.Equal(t, []string{"size"}, kept["io.k8s.api.a.v1.Thing"].Required)
	require.Empty(t, kept["io.k8s.api.a.v1.Thing"].Properties)
}

func TestUnusedExceptionIsAnError(t *testing.T) {
	given := published(t, `{"io.k8s.api.a.v1.Thing": {"properties": {"name": {"type": "string"}}}}`)
	_, err := reduce(given, []string{"io.k8s.api.a.v1.Thing"}, exceptions{notRequired: map[string]string{"a.v1.Thing.name": "has a default"}})
	require.EqualError(t, err, "a.v1.Thing.name is an exception that no schema needs")
}
