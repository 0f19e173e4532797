package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
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

func TestTheSearchAttributesAreDocumented(t *testing.T) {
	_, table, found := strings.Cut(pages(t)["docs/operating.md"], "\n### Search attributes\n")
	require.True(t, found)
	var named []string
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for _, match := range regexp.MustCompile("`([A-Za-z]+)`").FindAllStringSubmatch(cells[1], -1) {
				named = append(named, match[1])
			}
		} else {
			break
		}
	}
	require.ElementsMatch(t, kick.SearchAttributes(), named)
}

// A query with a name that no workflow has finds nothing, without a word.
func TestDocumentedQueriesNameSearchAttributesThatThereAre(t *testing.T) {
	known := append(kick.SearchAttributes(), "ExecutionStatus", "WorkflowType", "TemporalReportedProblems")
	for page, text := range pages(t) {
		for _, line := range regexp.MustCompile(`temporal workflow (?:list|count)\b.*`).FindAllString(text, -1) {
			names := regexp.MustCompile(`"[^"]*"`).ReplaceAllString(line, `""`) // without the values
			for _, match := range regexp.MustCompile(`([A-Za-z]+)(?:=| IN )`).FindAllStringSubmatch(names, -1) {
				require.Contains(t, known, match[1], "%s: %s", page, line)
			}
		}
	}
}
