package chartvalues

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chart"
)

func chartWith(name, schema string, dependencies ...*chart.Chart) *chart.Chart {
	c := &chart.Chart{Metadata: &chart.Metadata{Name: name}}
	if schema != "" {
		c.Schema = []byte(schema)
	}
	c.SetDependencies(dependencies...)
	return c
}

func TestReferencesOfASchemaAreNotFetched(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	serve := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = w.Write([]byte(`{"type": "object"}`))
	})
	plain, secured := httptest.NewServer(serve), httptest.NewTLSServer(serve)
	t.Cleanup(plain.Close)
	t.Cleanup(secured.Close)
	file := filepath.Join(t.TempDir(), "schema.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"type": "object"}`), 0o600))
	for name, schema := range map[string]string{
		"http":                 `{"$ref": "` + plain.URL + `/latest/meta-data"}`,
		"https":                `{"properties": {"a": {"$ref": "` + secured.URL + `/schema.json"}}}`,
		"a file":               `{"$ref": "file://` + file + `"}`,
		"a file beside it":     `{"$ref": "other.json"}`,
		"a base elsewhere":     `{"$id": "` + plain.URL + `/base.json", "$ref": "other.json"}`,
		"a draft of its own":   `{"$schema": "` + plain.URL + `/draft", "type": "object"}`,
		"a scheme of its own":  `{"$ref": "gopher://example.com/schema"}`,
		"an unknown draft":     `{"$ref": "http://json-schema.org/none/schema"}`,
		"credentials in a URL": `{"$ref": "https://me:s3cret@example.com/schema"}`,
	} {
		err := Validate(chartWith("sample", schema), map[string]any{"a": "b"})
		require.ErrorContains(t, err, "values.schema.json of chart sample", name)
		require.ErrorContains(t, err, "which is not fetched", name)
		require.NotContains(t, err.Error(), "s3cret")
	}
	require.Zero(t, asked.Load())
}

func TestValuesAreCheckedAgainstTheSchemasOfAChartAndItsDependencies(t *testing.T) {
	t.Parallel()
	const wantsNumber = `{"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/it", "definitions": {"it": {"type": "object", "properties": {"replicas": {"type": "integer"}}}}}`
	for name, test := range map[string]struct {
		chart  *chart.Chart
		values map[string]any
		says   string
	}{
		"matching values":                 {chartWith("sample", wantsNumber), map[string]any{"replicas": 1}, ""},
		"no schema":                       {chartWith("sample", ""), map[string]any{"replicas": "x"}, ""},
		"mismatching values":              {chartWith("sample", wantsNumber), map[string]any{"replicas": "x"}, "values.schema.json of chart sample: the values do not match: - at '/replicas': got string, want integer"},
		"values of a dependency":          {chartWith("sample", "", chartWith("sub", wantsNumber)), map[string]any{"sub": map[string]any{"replicas": "x"}}, "of chart sub"},
		"a dependency without values":     {chartWith("sample", "", chartWith("sub", wantsNumber)), map[string]any{}, ""},
		"a dependency with other values":  {chartWith("sample", "", chartWith("sub", wantsNumber)), map[string]any{"sub": "x"}, "instead of a map"},
		"a schema that is not JSON":       {chartWith("sample", "{"), nil, "not JSON"},
		"an invalid schema":               {chartWith("sample", `{"type": 1}`), map[string]any{}, "values.schema.json"},
		"a reference to the drafts":       {chartWith("sample", `{"$ref": "https://json-schema.org/draft/2020-12/schema"}`), map[string]any{}, ""},
		"a reference that is only a name": {chartWith("sample", `{"$ref": "urn:example:any"}`), map[string]any{}, ""},
	} {
		err := Validate(test.chart, test.values)
		if test.says == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, test.says, name)
	}
}
