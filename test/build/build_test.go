package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheOutputOfTheGoCommandIsParsed(t *testing.T) {
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
	picked, err := pick(programs("", ""), []string{"module", "fleet"})
	require.NoError(t, err)
	require.Equal(t, []string{"module", "fleet"}, namesOf(picked))

	_, err = pick(programs("", ""), []string{"modul"})
	require.EqualError(t, err, `no program is called "modul": there are demo, fleet, sample-operator, agent, lifecycle-manager, memfleet, cert-manager, module, modules, previous`)
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

func TestAProgramThatHasNotChangedIsNotLinkedAnew(t *testing.T) {
	module := t.TempDir()
	write(t, filepath.Join(module, "go.mod"), "module example.com/same\n\ngo 1.26\n")
	write(t, filepath.Join(module, "main.go"), "package main\n\nvar version string\n\nfunc main() { println(version) }\n")
	b := build{
		program: program{name: "same", module: module, source: ".", variables: map[string]string{"main.version": "1.2.3"}},
		target:  filepath.Join(module, "same"), now: time.Now, say: func(string) {},
	}
	// What is written behind a program is there until it is linked again.
	linkedAnew := func() bool {
		require.NoError(t, b.run(context.Background()))
		content, err := os.ReadFile(b.target)
		require.NoError(t, err)
		relinked := !bytes.HasSuffix(content, []byte("mark"))
		require.NoError(t, os.WriteFile(b.target, append(content, "mark"...), 0o700))
		return relinked
	}
	require.True(t, linkedAnew())
	require.False(t, linkedAnew())
	b.variables["main.version"] = "1.2.4"
	require.True(t, linkedAnew(), "another version is another program")
}

// Some targets of make give the version and others do not: where that made two programs, each linked the other's away.
func TestTheVersionThatAProgramHasAnywayMakesNoOtherProgram(t *testing.T) {
	require.Equal(t, programs("", ""), programs("0.0.0-dev", "0123456789ab"), "and each commit would be another")
	require.NotEqual(t, programs("", ""), programs("1.2.3", ""))
	require.NotEqual(t, programs("1.2.3", "0123456789ab"), programs("1.2.3", ""))
	source, err := os.ReadFile("../../cmd/lifecycle-manager/version.go")
	require.NoError(t, err)
	require.Contains(t, string(source), "version = \"0.0.0-dev\"")
}
