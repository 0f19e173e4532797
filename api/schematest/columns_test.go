package schematest

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/util/jsonpath"
)

// What `kubectl get` shows first. The rows are literal, for people read them.
func TestColumnsShowWhatAPersonReadsFirst(t *testing.T) {
	cases := []struct {
		kind, document string
		usual, wide    [][2]string
	}{
		{
			"Kyma", kymaStatus + "metadata: {name: sample, creationTimestamp: '2026-11-20T23:42:00Z'}",
			[][2]string{
				{"State", "Processing"},
				{"Channel", "alpha"},
				{"Modules", "0/1"},
				{"Age", "2026-11-20T23:42:00Z"},
				{"Message", "waiting for all modules to become ready"},
			},
			nil,
		},
		{
			"Manifest", manifestStatus + `
spec: {` + install + `, version: 1.2.4}
metadata:
  name: sample
  creationTimestamp: '2026-11-20T23:42:00Z'
  labels: {operator.kyma-project.io/module-name: keda}
`,
			[][2]string{
				{"State", "Warning"},
				{"Module", "keda"},
				{"Version", "1.2.4"},
				{"Age", "2026-11-20T23:42:00Z"},
				{"Message", "installation is ready"},
			},
			[][2]string{{"Installed", "1.2.3"}, {"Objects", "2"}, {"Ready", "1"}, {"Failed", "0"}},
		},
		{
			"RemoteAgent", manifestStatus + `
spec: {` + install + `, version: 1.2.4}
metadata:
  name: sample
  creationTimestamp: '2026-11-20T23:42:00Z'
  labels: {operator.kyma-project.io/kyma-name: team-a}
`,
			[][2]string{
				{"State", "Warning"},
				{"Kyma", "team-a"},
				{"Version", "1.2.4"},
				{"Age", "2026-11-20T23:42:00Z"},
				{"Message", "installation is ready"},
			},
			nil,
		},
		{
			"ModuleTemplate", "spec: {moduleName: keda, version: 1.2.3, channel: fast, mandatory: true, target: remote}",
			[][2]string{{"Module", "keda"}, {"Version", "1.2.3"}, {"Channel", "fast"}, {"Age", ""}},
			[][2]string{{"Mandatory", "true"}, {"Target", "remote"}},
		},
		{
			"ModuleReleaseMeta",
			"{spec: {moduleName: keda, ocmComponentName: kyma-project.io/module/keda, channels: [{channel: fast, version: 1.2.3}]}, " +
				"metadata: {annotations: {operator.kyma-project.io/channels: 'fast=1.2.3 regular=1.2.2'}}}",
			[][2]string{
				{"Module", "keda"},
				{"Mandatory", ""},
				{"Channels", "fast=1.2.3 regular=1.2.2"},
				{"Age", ""},
			},
			[][2]string{{"Component", "kyma-project.io/module/keda"}},
		},
		{
			"Watcher", "{spec: {manager: lifecycle-manager, field: spec, resourceToWatch: {resource: kymas}}, status: {state: Ready}}",
			[][2]string{
				{"State", "Ready"},
				{"Manager", "lifecycle-manager"},
				{"Watches", "kymas"},
				{"Field", "spec"},
				{"Age", ""},
			},
			nil,
		},
		{
			"RolloutPolicy", "{spec: {onFailure: revert}, status: {channels: 12, conditions: [" + condition("Ready") + "]}}",
			[][2]string{{"Ready", "True"}, {"Channels", "12"}, {"On Failure", "revert"}, {"Age", ""}},
			nil,
		},
		{
			"RemovalBudget", "{status: {limit: 10, used: 10, held: 37}}",
			[][2]string{{"Limit", "10"}, {"Used", "10"}, {"Held", "37"}, {"Since", ""}, {"Age", ""}},
			nil,
		},
		{
			"ModuleRollout",
			"{spec: {moduleName: keda, channel: fast, from: 1.0.0, to: 1.1.0}, " +
				"status: {phase: Soaking, stageName: canary, progress: 3/9, waitsFor: 'the clusters of stage canary to stay well for 1h0m0s', waitsUntil: '2026-11-20T23:42:00Z'}}",
			[][2]string{
				{"Module", "keda"},
				{"Channel", "fast"},
				{"From", "1.0.0"},
				{"To", "1.1.0"},
				{"Phase", "Soaking"},
				{"Stage", "canary"},
				{"Ready", "3/9"},
				{"Waits For", "the clusters of stage canary to stay well for 1h0m0s"},
				{"Age", ""},
			},
			[][2]string{{"Until", "2026-11-20T23:42:00Z"}},
		},
	}
	definitions := readDefinitions(t)
	require.Len(t, cases, len(definitions), "every kind has columns")
	for _, c := range cases {
		for _, version := range definitions[c.kind].Spec.Versions {
			t.Run(c.kind+"/"+version.Name, func(t *testing.T) {
				object := served{kind: c.kind, version: version.Name}.object(t, c.document)
				usual, wide := row(t, version.AdditionalPrinterColumns, object)
				require.Equal(t, c.usual, usual)
				require.Equal(t, c.wide, wide, "with -o wide")
			})
		}
	}
}

// row returns header and cell of each column, found as the API server finds
// them: the first match counts, and a missing field is an empty cell.
func row(t *testing.T, columns []apiextensionsv1.CustomResourceColumnDefinition, object map[string]any) (usual, wide [][2]string) {
	t.Helper()
	for _, column := range columns {
		path := jsonpath.New(column.Name).AllowMissingKeys(true)
		require.NoError(t, path.Parse("{"+column.JSONPath+"}"))
		results, err := path.FindResults(object)
		require.NoError(t, err)
		cell := [2]string{column.Name, ""}
		if len(results) > 0 && len(results[0]) > 0 {
			text := &bytes.Buffer{}
			require.NoError(t, path.PrintResults(text, []reflect.Value{reflect.ValueOf(results[0][0].Interface())}))
			cell[1] = text.String()
		}
		if column.Priority > 0 {
			wide = append(wide, cell)
		} else {
			usual = append(usual, cell)
		}
	}
	return usual, wide
}
