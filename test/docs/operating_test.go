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

	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// Reasons are declared as constants, or given where a fault is made. Both say the same word as the table.
var reasonsInCode = regexp.MustCompile(`\b(?:Reason|Event)\w+\s*=\s*"([A-Z]\w+)"|\bReason:\s*"([A-Z]\w+)"`)

func TestEveryReasonIsExplained(t *testing.T) {
	root := testfleet.Root(t)
	explained := map[string]bool{}
	for _, section := range hint.Sections() {
		for _, r := range section.Reasons {
			require.False(t, explained[r.Name], "%s is explained twice", r.Name)
			require.NotEmpty(t, r.Means, r.Name)
			require.NotEmpty(t, r.Do, r.Name)
			explained[r.Name] = true
		}
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
	require.NotEmpty(t, reasons)
	for reason, file := range reasons {
		require.True(t, explained[reason], "internal/platform/hint/reasons.go does not have the reason %s (%s)", reason, file)
	}
	source := regexp.MustCompile(`Name: +"`).ReplaceAllString(code(t, "api", "activities", "internal", "watchers", "workflows", "worker"), "")
	for reason := range explained {
		assert.True(t, strings.Contains(source, `"`+reason+`"`), "internal/platform/hint/reasons.go has the reason %s, which nothing gives", reason) //nolint:testifylint // Contains would print all the code
	}
}

// helm-docs writes a row for each value, and nothing where values.yaml has no comment.
func TestTheChartsPageSaysWhatEachValueIs(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(testfleet.Root(t), "deploy", "helm", "lifecycle-manager", "README.md"))
	require.NoError(t, err)
	rows := regexp.MustCompile(`(?m)^\| ([a-z][A-Za-z.]+) \| [a-z]+ \| .* \|([^|]*)\|$`).FindAllStringSubmatch(string(page), -1)
	require.NotEmpty(t, rows)
	for _, row := range rows {
		require.NotEmpty(t, strings.TrimSpace(row[2]), "values.yaml does not say what %s is", row[1])
	}
}
