package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/test/build/compile"
)

func TestThePreviousReleaseIsTheOneThatTheFileNames(t *testing.T) {
	named, err := releaseIn("# which one\n\n v1.2.3 \n")
	require.NoError(t, err)
	require.Equal(t, "v1.2.3", named)
	for _, content := range []string{"", "# v1.2.3\n", "v1.2.3\nv1.2.4\n"} {
		_, err := releaseIn(content)
		require.ErrorContains(t, err, "it must name one release")
	}
}

func TestThePreviousReleaseIsBuiltFromItsOwnSources(t *testing.T) {
	repository := t.TempDir()
	t.Chdir(repository)
	git := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("git", append([]string{"-c", "user.name=Somebody", "-c", "user.email=somebody@example.com", "-c", "commit.gpgsign=false"}, args...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return strings.TrimSpace(string(out))
	}
	says := func(what string) {
		t.Helper()
		write(t, chartFolder+"/Chart.yaml", what)
		write(t, "cmd/lifecycle-manager/main.go", "package main\n\nvar version string\n\nfunc main() { print(version, \" "+what+"\") }\n")
		git("add", ".")
		git("commit", "-q", "-m", what)
	}
	require.NoError(t, os.MkdirAll("cmd/lifecycle-manager", 0o700))
	require.NoError(t, os.MkdirAll(chartFolder, 0o700))
	require.NoError(t, os.MkdirAll("test", 0o700))
	git("init", "-q")
	write(t, "go.mod", "module example.com/manager\n\ngo 1.26\n")
	says("then")
	git("tag", "v0.1.0")
	says("now")

	target := filepath.Join(repository, "bin", previousName)
	chart := func() string {
		t.Helper()
		content, err := os.ReadFile(filepath.Join(target, "chart", "Chart.yaml"))
		require.NoError(t, err)
		return string(content)
	}
	built := func(release string) string {
		t.Helper()
		write(t, previousFile, "# a comment\n"+release+"\n")
		picked, err := pick(programs(filepath.Dir(target), "", ""), []string{previousName})
		require.NoError(t, err)
		require.NoError(t, buildPrevious(context.Background(), picked[0], func(string) {}))
		said, err := exec.Command(filepath.Join(target, "lifecycle-manager")).CombinedOutput()
		require.NoError(t, err)
		return string(said)
	}
	require.Equal(t, previousVersion+" then", built("v0.1.0"))
	require.Equal(t, "then", chart())
	require.Equal(t, previousVersion+" now", built(git("rev-parse", "HEAD")))

	// What is written behind a program is there until it is built again.
	program := filepath.Join(target, "lifecycle-manager")
	content, err := os.ReadFile(program)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(program, append(content, "mark"...), 0o700))
	built("HEAD")
	content, err = os.ReadFile(program)
	require.NoError(t, err)
	require.True(t, bytes.HasSuffix(content, []byte("mark")), "of the same commit, it is not built again")
}

func TestARepositoryWithoutThePreviousReleaseSaysHowToGetIt(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, exec.Command("git", "init", "-q").Run())
	_, err := commitOf(context.Background(), "v0.1.0")
	require.ErrorIs(t, err, errNotThere)
	require.ErrorContains(t, err, "git fetch --unshallow --tags")

	// What was built of another release is no longer the previous one.
	require.NoError(t, os.MkdirAll("bin/previous", 0o700))
	require.NoError(t, os.MkdirAll("test", 0o700))
	write(t, previousFile, "v0.1.0")
	var said string
	say := func(line string) { said = line }
	require.NoError(t, buildPrevious(context.Background(), compile.Program{Name: previousName, Target: "bin/previous"}, say))
	require.Contains(t, said, "did not build previous: the release v0.1.0 is not in this repository")
	require.NoDirExists(t, "bin/previous")
}

func TestOfThePreviousReleaseNothingIsBuiltUnasked(t *testing.T) {
	picked, err := pick(programs("bin", "", ""), nil)
	require.NoError(t, err)
	require.NotContains(t, namesOf(picked), previousName)
}
