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

var (
	// A command that runs some tests: packages, and the flags after them.
	testCommand = regexp.MustCompile("(?:go test|test/run) ((?:\\./\\S+ ?)+)(?:-v )?-run (?:'([^'`]+)'|([^\\s`'\"]+))")
	// A command that runs the benchmarks of some packages.
	benchCommand = regexp.MustCompile("PACKAGES=(?:\"([^\"]+)\"|([^\\s`\"]+))")
	testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark)\w+)\(`)
)

// A pattern that matches no test of a package passes: whoever copies such a command believes that it was tested.
func TestCommandsInPagesFindTheirTestsAndBenchmarks(t *testing.T) {
	commands := 0
	for page, content := range pages(t) {
		for _, found := range testCommand.FindAllStringSubmatch(content, -1) {
			commands++
			require.True(t, anyFunction(t, found[1], "Test", found[2]+found[3]), "%s: %s runs no test", page, found[0])
		}
		for _, found := range benchCommand.FindAllStringSubmatch(content, -1) {
			commands++
			require.True(t, anyFunction(t, found[1]+found[2], "Benchmark", "."), "%s: %s has no benchmark", page, found[0])
		}
	}
	require.NotZero(t, commands)
	require.False(t, anyFunction(t, "./test/docs", "Benchmark", "."))
	require.False(t, anyFunction(t, "./test/docs", "Test", "NoSuchTest"))
	require.True(t, anyFunction(t, "./test/...", "Test", "TestCommandsInPages"))
}

// anyFunction tells whether one of these packages, separated by spaces, has a test or benchmark that a pattern matches.
func anyFunction(t *testing.T, packages, kind, pattern string) bool {
	t.Helper()
	matches := regexp.MustCompile(pattern)
	found := false
	for _, path := range strings.Fields(packages) {
		folder, below := strings.CutSuffix(path, "/...")
		root := filepath.Join(testfleet.Root(t), folder)
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && path != root && !below:
				return fs.SkipDir
			case entry.IsDir() || !strings.HasSuffix(path, "_test.go"):
				return nil
			}
			content, err := os.ReadFile(path)
			for _, function := range testFunction.FindAllStringSubmatch(string(content), -1) {
				found = found || strings.HasPrefix(function[1], kind) && matches.MatchString(function[1])
			}
			return err
		})
		require.NoError(t, err, path)
	}
	return found
}
