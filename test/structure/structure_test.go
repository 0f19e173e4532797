// Package structure holds the rules of the layout: imports run one way, also between the files of a large package, and
// no package grows beyond what one can keep in mind. The linter (depguard) has the rules between top-level folders.
package structure

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	module = "github.com/kyma-project/lifecycle-manager/"
	// maxLines of a package, without its tests and generated files.
	maxLines = 2500
	// manyFiles is from how many files on a package must have an order of files as well.
	manyFiles = 15
)

// rooms are the folders below internal, from the bottom to the top. A package imports only its own room and those before it.
var rooms = []string{"platform", "registry", "model", "fleet", "events", "modules"}

// engine are the packages that work on one Manifest. Each imports only those before it.
var engine = []string{
	"internal/model/kinds", "internal/model/inventory", "internal/modules/objects", "internal/modules/bundle", "internal/modules/readiness",
	"internal/modules/manifests", "internal/modules/adoption", "internal/modules/drift", "internal/modules/apply", "internal/modules/removal",
	"activities/install", "activities/uninstall", "activities/purge",
}

// listed is what `go list` says of a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles, Imports        []string
}

// load lists all packages once: those of this module by path below its root, and where the export data of all is.
var load = sync.OnceValues(func() (map[string]listed, map[string]string) {
	command := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,Imports", "./...")
	command.Dir = "../.."
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		panic(err)
	}
	ours, exports := map[string]listed{}, map[string]string{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return ours, exports
		} else if err != nil {
			panic(err)
		}
		exports[p.ImportPath] = p.Export
		if path, ok := strings.CutPrefix(p.ImportPath, module); ok {
			ours[path] = p
		}
	}
})

func packages(t *testing.T) (map[string]listed, map[string]string) {
	t.Helper()
	ours, exports := load()
	require.Contains(t, ours, "activities/install")
	return ours, exports
}

// roomOf returns the room of a package below internal, and -1 for all others.
func roomOf(path string) int {
	below, ok := strings.CutPrefix(path, "internal/")
	if !ok {
		return -1
	}
	room, _, _ := strings.Cut(below, "/")
	return slices.Index(rooms, room)
}

func TestRoomsImportOneWay(t *testing.T) {
	all, _ := packages(t)
	for path, p := range all {
		if !strings.HasPrefix(path, "internal/") {
			continue
		}
		number := roomOf(path)
		require.GreaterOrEqual(t, number, 0, "%s is in none of the rooms %v", path, rooms)
		for _, imported := range p.Imports {
			of, ours := strings.CutPrefix(imported, module)
			if !ours || strings.HasPrefix(of, "api/") {
				continue
			}
			other := roomOf(of)
			require.True(t, other >= 0 && other <= number, "%s imports %s, which is above it", path, of)
		}
	}
}

func TestTheEngineImportsOneWay(t *testing.T) {
	all, _ := packages(t)
	for number, path := range engine {
		require.Contains(t, all, path)
		for _, imported := range all[path].Imports {
			of, ours := strings.CutPrefix(imported, module)
			if other := slices.Index(engine, of); ours && other >= 0 {
				require.Less(t, other, number, "%s imports %s", path, of)
			}
			require.NotContains(t, []string{"activities/resolve", "activities/sync", "activities/status", "activities/sweep", "activities/background"}, of, path)
		}
	}
	require.NotContains(t, all["activities/sync"].Imports, module+"activities/resolve")
}

func TestActivitiesAreWhatAWorkerRegisters(t *testing.T) {
	all, _ := packages(t)
	for path := range all {
		if of, ok := strings.CutPrefix(path, "activities/"); ok {
			require.NotContains(t, of, "/", "a package below one of activities belongs below internal")
			require.True(t, slices.Contains(all["worker"].Imports, module+path), "no worker registers anything of %s: it belongs below internal", path)
		}
	}
}

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

func TestNoPackageIsTooLarge(t *testing.T) {
	all, _ := packages(t)
	for path, p := range all {
		lines := 0
		for _, file := range p.GoFiles {
			content, err := os.ReadFile(filepath.Join(p.Dir, file))
			require.NoError(t, err)
			if !generated.Match(content) {
				lines += bytes.Count(content, []byte("\n"))
			}
		}
		most := maxLines
		if strings.HasPrefix(path, "api/") {
			most = 2 * maxLines // a version of an API is one package, and its fields are documented where they are declared
		}
		require.LessOrEqual(t, lines, most, path)
	}
}

func TestTheFilesOfALargePackageReferOneWay(t *testing.T) {
	all, exports := packages(t)
	checked := 0
	for path, p := range all {
		if len(p.GoFiles) <= manyFiles || !strings.HasPrefix(path, "activities/") && !strings.HasPrefix(path, "internal/") {
			continue
		}
		if path == "internal/fleet/clusters" || path == "internal/model/desired" {
			continue // each file is one aspect of Cluster or Candidates, which refer to all of them
		}
		checked++
		t.Run(path, func(t *testing.T) {
			if cycle := findCycle(references(t, p, exports)); cycle != nil {
				require.Fail(t, "files refer to one another in a circle", strings.Join(cycle, " -> "))
			}
		})
	}
	require.NotZero(t, checked)
}

// references says which file of a package refers to what is declared in which other one.
func references(t *testing.T, p listed, exports map[string]string) map[string][]string {
	t.Helper()
	files := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		parsed = append(parsed, file)
	}
	config := types.Config{Importer: importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	checked, err := config.Check(p.ImportPath, files, parsed, info)
	require.NoError(t, err)
	name := func(at token.Pos) string { return filepath.Base(files.Position(at).Filename) }
	seen := map[string]map[string]bool{}
	for use, object := range info.Uses {
		if field, ok := object.(*types.Var); object.Pkg() != checked || ok && field.IsField() {
			continue
		}
		if from, to := name(use.Pos()), name(object.Pos()); from != to {
			if seen[from] == nil {
				seen[from] = map[string]bool{}
			}
			seen[from][to] = true
		}
	}
	all := map[string][]string{}
	for from, to := range seen {
		all[from] = slices.Sorted(maps.Keys(to))
	}
	return all
}

// findCycle returns a way from one file back to itself; nil where there is none.
func findCycle(edges map[string][]string) []string {
	done := map[string]bool{}
	var walk func(at string, path []string) []string
	walk = func(at string, path []string) []string {
		if i := slices.Index(path, at); i >= 0 {
			return append(slices.Clone(path[i:]), at)
		}
		if done[at] {
			return nil
		}
		for _, next := range edges[at] {
			if cycle := walk(next, append(slices.Clone(path), at)); cycle != nil {
				return cycle
			}
		}
		done[at] = true
		return nil
	}
	for _, from := range slices.Sorted(maps.Keys(edges)) {
		if cycle := walk(from, nil); cycle != nil {
			return cycle
		}
	}
	return nil
}

func TestACycleIsFound(t *testing.T) {
	require.Nil(t, findCycle(map[string][]string{"a": {"b", "c"}, "b": {"c"}}))
	require.Equal(t, []string{"b", "c", "b"}, findCycle(map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"b"}}))
}
