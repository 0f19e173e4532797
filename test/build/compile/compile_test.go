package compile

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheOutputOfTheGoCommandIsParsed(t *testing.T) {
	var p progress
	problems := p.read(strings.NewReader(strings.Join([]string{
		"go: downloading k8s.io/api v0.37.2",
		"go: downloading k8s.io/client-go v0.37.2",
		"internal/goarch",
		"k8s.io/api/core/v1",
		"github.com/kyma-project/lifecycle-manager/api/shared",
		"# github.com/kyma-project/lifecycle-manager/api/shared",
		"api/shared/state.go:7:2: undefined: nothing",
	}, "\n")), nil)
	require.Equal(t, 2, p.downloaded)
	require.Equal(t, 3, p.compiled)
	require.Equal(t, []string{
		"# github.com/kyma-project/lifecycle-manager/api/shared",
		"api/shared/state.go:7:2: undefined: nothing",
	}, problems)
}

func TestANoticeSaysWhatIsDoneAndWhatRemains(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	p := progress{groups: []group{{{Name: "one"}}, {{Name: "two"}}}, now: func() time.Time { return now }, began: now}
	now = now.Add(75 * time.Second)
	require.Equal(t, "building one, 1 min 15 s so far: 0 packages compiled", p.line())
	p.downloaded = 7
	require.Equal(t, "building one, 1 min 15 s so far: 7 modules downloaded", p.line())

	p.countedAt, p.stale = now, []map[string]bool{{}, {}}
	for _, name := range strings.Split(strings.Repeat("x", 100), "") {
		p.stale[0][name+" v1"+strings.Repeat(name, len(p.stale[0]))] = true
	}
	p.stale[1]["shared v1"] = true
	p.stale[0]["shared v1"] = true
	now = now.Add(10 * time.Second)
	require.Equal(t, "building one, 1 min 25 s so far; all programs: 101 of 101 packages left", p.line(), "a package of both counts once")
	p.compiled = 50
	require.Equal(t, "building one, 1 min 25 s so far; all programs: 51 of 101 packages left, about 10 s", p.line())
	require.Empty(t, p.rest(2), "nothing remains after the last one")
	p.stale[0] = map[string]bool{}
	require.Equal(t, "linking one, 1 min 25 s so far", p.line())
}

func TestAProgramThatDoesNotBuildSaysWhy(t *testing.T) {
	module := t.TempDir()
	write(t, filepath.Join(module, "go.mod"), "module example.com/broken\n\ngo 1.26\n")
	write(t, filepath.Join(module, "main.go"), "package main\n\nfunc main() { nothing() }\n")
	var said []string
	p := Program{Name: "broken", Module: module, Package: ".", Target: filepath.Join(module, "broken.tmp"), Install: filepath.Join(module, "broken")}
	build := func() error {
		return Build(context.Background(), []Program{p}, func(line string) { said = append(said, line) })
	}
	require.ErrorContains(t, build(), "undefined: nothing")
	require.NoFileExists(t, p.Install)

	write(t, filepath.Join(module, "main.go"), "package main\n\nvar version string\n\nfunc main() { println(version) }\n")
	p.Variables = map[string]string{"main.version": "1.2.3"}
	require.NoError(t, build())
	require.FileExists(t, p.Install)
	require.NoFileExists(t, p.Target)
	require.Contains(t, said[len(said)-1], "built broken in ")
}

func write(t *testing.T, path, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}

func TestAProgramThatHasNotChangedIsNotLinkedAgain(t *testing.T) {
	module := t.TempDir()
	write(t, filepath.Join(module, "go.mod"), "module example.com/same\n\ngo 1.26\n")
	write(t, filepath.Join(module, "main.go"), "package main\n\nvar version string\n\nfunc main() { println(version) }\n")
	p := Program{
		Name: "same", Module: module, Package: ".", Variables: map[string]string{"main.version": "1.2.3"}, Target: filepath.Join(module, "same"),
	}
	// What is written behind a program is there until it is linked again.
	linkedAgain := func() bool {
		require.NoError(t, Build(context.Background(), []Program{p}, func(string) {}))
		content, err := os.ReadFile(p.Target)
		require.NoError(t, err)
		relinked := !bytes.HasSuffix(content, []byte("mark"))
		require.NoError(t, os.WriteFile(p.Target, append(content, "mark"...), 0o700))
		return relinked
	}
	require.True(t, linkedAgain())
	require.False(t, linkedAgain())
	p.Variables["main.version"] = "1.2.4"
	require.True(t, linkedAgain(), "another version is another program")
}

func TestProgramsThatCanBeBuiltTogetherAre(t *testing.T) {
	module := t.TempDir()
	write(t, filepath.Join(module, "go.mod"), "module example.com/two\n\ngo 1.26\n")
	program := func(name string) Program {
		require.NoError(t, os.Mkdir(filepath.Join(module, name), 0o700))
		unlikeBefore := "// In " + module + ".\n"
		write(t, filepath.Join(module, name, "main.go"), unlikeBefore+"package main\n\nvar version string\n\nfunc main() { println(\""+name+"\", version) }\n")
		return Program{Name: name, Module: module, Package: "./" + name, Target: filepath.Join(module, "bin", name), Variables: map[string]string{"main.version": "1.2.3"}}
	}
	all := []Program{program("one"), program("two"), program("three"), program("four")}
	all[2].Variables = nil
	all[3].Target = filepath.Join(module, "bin", "by-another-name")
	require.Equal(t, []group{all[:2], all[2:3], all[3:]}, grouped(all))

	var said []string
	require.NoError(t, Build(context.Background(), all, func(line string) { said = append(said, line) }))
	require.Regexp(t, `(?s)compiled (one.*compiled two|two.*compiled one).*built one, two in .*built three in .*built four in `, strings.Join(said, "\n"))
	for _, p := range all {
		printed, err := exec.Command(p.Target).CombinedOutput()
		require.NoError(t, err)
		require.Equal(t, strings.TrimSpace(p.Name+" "+p.Variables["main.version"]), strings.TrimSpace(string(printed)))
	}
}

func TestTheMakefileCompilesTestsAsProgramsAreCompiled(t *testing.T) {
	makefile, err := os.ReadFile("../../../Makefile")
	require.NoError(t, err)
	require.Contains(t, string(makefile), "export GOFLAGS := "+Flags+"\n")
	require.Contains(t, string(makefile), "export CGO_ENABLED := 0\n")
}
