package statecheck

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseAcceptsAllSpellingsOfAPath(t *testing.T) {
	t.Parallel()
	object := map[string]any{"status": map[string]any{"health": "green", "nodes": []any{map[string]any{"name": "a", "up": true}}}}
	for path, want := range map[string]string{
		"status.health": "green", ".status.health": "green", "$.status.health": "green", "{.status.health}": "green",
		`status.nodes[?(@.name=="a")].up`: "true", "status.missing": "",
	} {
		parsed, err := Parse(path)
		require.NoError(t, err, path)
		var text strings.Builder
		require.NoError(t, parsed.Execute(&text, object), path)
		require.Equal(t, want, text.String(), path)
	}
}

func TestTheErrorNamesAnInvalidPath(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"{", "status.nodes[", "status.nodes[?(@.name==]", "{.status.health"} {
		_, err := Parse(path)
		require.ErrorContains(t, err, "is not a JSONPath", path)
		require.ErrorContains(t, err, path)
	}
}
