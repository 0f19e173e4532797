// Package docs tests the documentation against the code.
package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

func TestThePageAboutModulesNamesTestsThatExist(t *testing.T) {
	root := testfleet.Root(t)
	page, err := os.ReadFile(filepath.Join(root, "docs", "modules.md"))
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "## Rules and tests")
	require.True(t, found)
	there := tests(t, root)
	rules := 0
	for _, line := range strings.Split(table, "\n") {
		rule, named, isRow := strings.Cut(strings.Trim(line, "| "), " | ")
		if !isRow || rule == "rule" || strings.HasPrefix(rule, "**") {
			continue
		}
		rules++
		names := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(named, -1)
		require.NotEmpty(t, names, "no test covers the rule: %s", rule)
		for _, name := range names {
			require.True(t, there[name[1]], "the test %s of the rule %q is nowhere", name[1], rule)
		}
	}
	require.NotZero(t, rules)
}

// tests are the names of all tests, benchmarks and fuzz targets of this repository.
func tests(t *testing.T, root string) map[string]bool {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)\w+)\(`)
	names := map[string]bool{}
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		content, err := os.ReadFile(path)
		for _, match := range declared.FindAllSubmatch(content, -1) {
			names[string(match[1])] = true
		}
		return err
	}))
	return names
}
