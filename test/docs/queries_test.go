package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// A list without it also has what ended, in the state that it ended in: a Kyma that is Ready now is in the list of those
// in Error.
func TestDocumentedQueriesAskForRunningWorkflows(t *testing.T) {
	root := testfleet.Root(t)
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	found := 0
	for _, path := range append(pages, filepath.Join(root, "README.md")) {
		page, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, line := range regexp.MustCompile(`temporal workflow (?:list|count)\b.*`).FindAllString(string(page), -1) {
			found++
			require.Contains(t, line, `ExecutionStatus="Running"`, "%s: %s", filepath.Base(path), strings.TrimSpace(line))
		}
	}
	require.NotZero(t, found)
}
