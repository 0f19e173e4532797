package structure

import (
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// platforms are those that a build or test without them would not show to be broken.
var platforms = map[string]build.Context{
	"linux/arm64":   {GOOS: "linux", GOARCH: "arm64"},
	"linux/amd64":   {GOOS: "linux", GOARCH: "amd64"},
	"race detector": {GOOS: "linux", GOARCH: "amd64", BuildTags: []string{"race"}},
	"darwin/arm64":  {GOOS: "darwin", GOARCH: "arm64"},
	"windows/amd64": {GOOS: "windows", GOARCH: "amd64"},
}

// Where a file is for one platform only, each platform must have one of what it declares. The packages are parsed for
// each of them and not compiled: only what they declare themselves can be checked in seconds.
func TestEachPlatformHasItsFiles(t *testing.T) {
	all, exports := packages(t)
	checked := 0
	for path, p := range all {
		host, err := build.ImportDir(p.Dir, 0)
		require.NoError(t, err)
		if len(host.IgnoredGoFiles) == 0 {
			continue
		}
		checked++
		for name, platform := range platforms {
			t.Run(path+" on "+name, func(t *testing.T) {
				platform.Compiler = "gc"
				found, err := platform.ImportDir(p.Dir, 0)
				require.NoError(t, err)
				require.Empty(t, undeclared(t, p, found.GoFiles, exports))
			})
		}
	}
	require.NotZero(t, checked)
}

// undeclared are the names that these files of a package use and do not declare, or declare twice. The names of
// other packages are not checked, since the export data is that of the host.
func undeclared(t *testing.T, p listed, names []string, exports map[string]string) []string {
	t.Helper()
	files := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range names {
		file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		parsed = append(parsed, file)
	}
	var wrong []string
	config := types.Config{
		Importer: importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }),
		Error: func(err error) {
			var typeErr types.Error
			require.ErrorAs(t, err, &typeErr)
			name, undefined := strings.CutPrefix(typeErr.Msg, "undefined: ")
			if undefined && !strings.Contains(name, ".") || strings.Contains(err.Error(), "redeclared") {
				wrong = append(wrong, err.Error())
			}
		},
	}
	_, _ = config.Check(p.ImportPath, files, parsed, nil)
	return wrong
}
