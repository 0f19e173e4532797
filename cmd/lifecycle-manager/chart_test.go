package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/cmd/internal/settings"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// updateVariable makes the test write what it compares.
const updateVariable = "UPDATE_CHART_SCHEMA"

// The schema of the chart's values has every flag of run that is no value of its own, with its type, so that a wrong name
// or value is refused when the chart is rendered and not when its pods start.
func TestTheChartsSchemaHasEveryOtherFlagUnderSettings(t *testing.T) {
	chart := filepath.Join(testfleet.Root(t), "deploy", "helm", "lifecycle-manager")
	checks, err := os.ReadFile(filepath.Join(chart, "templates", "_checks.tpl"))
	require.NoError(t, err)
	_, listed, found := strings.Cut(string(checks), "$own := list ")
	require.True(t, found)
	listed, _, _ = strings.Cut(listed, " -}}")
	own := map[string]bool{}
	for _, name := range regexp.MustCompile(`"([a-z0-9-]+)"`).FindAllStringSubmatch(listed, -1) {
		own[name[1]] = true
	}

	properties := map[string]any{}
	newRunCommand().Flags().VisitAll(func(flag *pflag.Flag) {
		if !own[flag.Name] && flag.Name != "help" && !settings.IsIgnored(flag) {
			properties[flag.Name] = schemaOf(t, flag)
		}
		delete(own, flag.Name)
	})
	require.Empty(t, own, "the chart has values for flags that there are not")

	path := filepath.Join(chart, "values.schema.json")
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	var schema map[string]any
	require.NoError(t, json.Unmarshal(content, &schema))
	values, _ := schema["properties"].(map[string]any)
	values["settings"] = map[string]any{
		"type": "object", "additionalProperties": false, "properties": properties,
		"description": "Flags of lifecycle-manager run that have no value of their own.",
	}
	var want bytes.Buffer
	encoder := json.NewEncoder(&want)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	require.NoError(t, encoder.Encode(schema))
	if os.Getenv(updateVariable) != "" {
		require.NoError(t, os.WriteFile(path, want.Bytes(), 0o600))
		return
	}
	require.Equal(t, want.String(), string(content), "the flags have changed: %s=1 go test ./cmd/lifecycle-manager -run Chart", updateVariable)
}

// schemaOf is what a value of a flag has to be.
func schemaOf(t *testing.T, flag *pflag.Flag) map[string]any {
	t.Helper()
	schema := map[string]any{"description": flag.Usage}
	switch kind := flag.Value.Type(); kind {
	case "bool":
		schema["type"] = "boolean"
	case "int", "int32", "int64":
		schema["type"] = "integer"
	case "float32", "float64":
		schema["type"] = "number"
	case "duration":
		schema["type"], schema["pattern"] = "string", `^([0-9.]+(ns|us|ms|s|m|h))+$|^0$`
	case "stringSlice", "stringArray":
		schema["type"], schema["items"] = "array", map[string]any{"type": "string"}
	case "string":
		schema["type"] = "string"
	default:
		t.Fatalf("--%s is of a type that the chart does not know: %s", flag.Name, kind)
	}
	return schema
}
