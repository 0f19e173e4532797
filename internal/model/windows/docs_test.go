package windows

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/docs"
)

func TestTheDocumentedPolicyIsValid(t *testing.T) {
	page, err := docs.Pages.ReadFile("maintenance-windows.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(page), "```json\n")
	require.True(t, found)
	example, _, found := strings.Cut(rest, "```")
	require.True(t, found)
	policy := mustParse(t, example)
	windows, matched := policy.For(map[string]string{"kyma-project.io/region": "eu-1"})
	require.True(t, matched)
	require.Equal(t, "2026-12-05T20:00:00Z to 2026-12-06T06:00:00Z", windows[0].String())
	require.Equal(t, "Sat 21:00:00Z to 01:00:00Z", windows[1].String())
}
