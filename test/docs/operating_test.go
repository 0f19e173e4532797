package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// Reasons are declared as constants, or given where a fault is made. Both say the same word as the table.
var reasonsInCode = regexp.MustCompile(`\b(?:Reason|Event)\w+\s*=\s*"([A-Z]\w+)"|\bReason:\s*"([A-Z]\w+)"`)

func TestThePageAboutOperatingExplainsEveryReason(t *testing.T) {
	root := testfleet.Root(t)
	page, err := os.ReadFile(filepath.Join(root, "docs", "operating.md"))
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "## What each reason means\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	explained := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (.+) \\| (.+) \\|$").FindAllStringSubmatch(section, -1) {
		require.False(t, explained[row[1]], "%s is explained twice", row[1])
		explained[row[1]] = true
	}
	reasons := map[string]string{}
	for _, folder := range []string{"activities", "internal", "watchers", "workflows", "worker"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			content, err := os.ReadFile(path)
			for _, match := range reasonsInCode.FindAllSubmatch(content, -1) {
				reasons[string(match[1])+string(match[2])], _ = filepath.Rel(root, path)
			}
			return err
		}))
	}
	require.Greater(t, len(reasons), 80)
	for reason, file := range reasons {
		require.True(t, explained[reason], "docs/operating.md does not say what to do about the reason %s (%s)", reason, file)
	}
	source := code(t, "api", "activities", "internal", "watchers", "workflows", "worker")
	for reason := range explained {
		assert.True(t, strings.Contains(source, `"`+reason+`"`), "docs/operating.md explains the reason %s, which nothing gives", reason) //nolint:testifylint // Contains would print all the code
	}
}

// helm-docs writes a row for each value, and nothing where values.yaml has no comment.
func TestTheChartsPageSaysWhatEachValueIs(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(testfleet.Root(t), "deploy", "helm", "lifecycle-manager", "README.md"))
	require.NoError(t, err)
	rows := regexp.MustCompile(`(?m)^\| ([a-z][A-Za-z.]+) \| [a-z]+ \| .* \|([^|]*)\|$`).FindAllStringSubmatch(string(page), -1)
	require.Greater(t, len(rows), 60)
	for _, row := range rows {
		require.NotEmpty(t, strings.TrimSpace(row[2]), "values.yaml does not say what %s is", row[1])
	}
}
