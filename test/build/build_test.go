package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhatTheGoCommandSaysIsToldApart(t *testing.T) {
	var s seen
	s.read(strings.NewReader(strings.Join([]string{
		"go: downloading k8s.io/api v0.37.2",
		"go: downloading k8s.io/client-go v0.37.2",
		"internal/goarch",
		"k8s.io/api/core/v1",
		"github.com/kyma-project/lifecycle-manager/api/shared",
		"# github.com/kyma-project/lifecycle-manager/api/shared",
		"api/shared/state.go:7:2: undefined: nothing",
	}, "\n")))
	require.Equal(t, "2 modules downloaded, 3 packages compiled", s.String())
	require.Equal(t, []string{
		"# github.com/kyma-project/lifecycle-manager/api/shared",
		"api/shared/state.go:7:2: undefined: nothing",
	}, s.problems)
}

func TestOnlyKnownProgramsAreBuilt(t *testing.T) {
	picked, err := pick(programs(""), []string{"module", "fleet"})
	require.NoError(t, err)
	require.Equal(t, []string{"module", "fleet"}, namesOf(picked))

	_, err = pick(programs(""), []string{"modul"})
	require.EqualError(t, err, `no program is called "modul": there are demo, fleet, sample-operator, lifecycle-manager, module, modules`)
}

func TestAProgramThatDoesNotBuildSaysWhy(t *testing.T) {
	module := t.TempDir()
	write(t, filepath.Join(module, "go.mod"), "module example.com/broken\n\ngo 1.26\n")
	write(t, filepath.Join(module, "main.go"), "package main\n\nfunc main() { nothing() }\n")
	var said []string
	b := build{
		program: program{name: "broken", module: module, source: "."},
		target:  filepath.Join(module, "broken"), now: time.Now,
		say: func(line string) { said = append(said, line) },
	}
	require.ErrorContains(t, b.run(context.Background()), "undefined: nothing")
	require.NoFileExists(t, b.target)

	write(t, filepath.Join(module, "main.go"), "package main\n\nvar version string\n\nfunc main() { println(version) }\n")
	b.variables = map[string]string{"main.version": "1.2.3"}
	require.NoError(t, b.run(context.Background()))
	require.FileExists(t, b.target)
	require.Contains(t, said[len(said)-1], "built broken in ")
}

func write(t *testing.T, path, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}
