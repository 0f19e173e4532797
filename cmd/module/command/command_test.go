package command_test

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/cmd/module/command"
)

type outcome struct {
	code     int
	out, err string
}

func module(t *testing.T, arguments ...string) outcome {
	t.Helper()
	// os.Chdir instead of t.Chdir, because t.Chdir opens the original folder, and Go's test cache then depends on the
	// times of its files.
	require.NoError(t, os.Chdir(elsewhere)) //nolint:usetesting // see above
	var out, failed bytes.Buffer
	code := command.Execute(arguments, "1.2.3 (commit abc)", command.Streams{In: strings.NewReader("secret\n"), Out: &out, Err: &failed})
	return outcome{code, out.String(), failed.String()}
}

func newRegistry(t *testing.T) (address string) {
	t.Helper()
	// Use no credentials of the person who runs the test.
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func requireGolden(t *testing.T, path, got string) {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(filepath.Join(here, path), []byte(got), 0o600))
		return
	}
	want, err := testdata.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func TestVersionFlag(t *testing.T) {
	require.Equal(t, outcome{out: "module version 1.2.3 (commit abc)\n"}, module(t, "--version"))
}

func TestPushPrintsTemplateAndReleaseMeta(t *testing.T) {
	address := newRegistry(t)
	got := module(t, "push", "testdata/widget", "--registry", address+"/sub", "--plain-http", "--channel", "fast,regular=1.2.2")
	require.Equal(t, 0, got.code, got.err)
	require.Equal(t, "pushed kyma-project.io/module/widget:1.2.3 to "+address+"/sub\n", got.err)
	requireGolden(t, "testdata/push.golden.yaml", strings.ReplaceAll(got.out, address, "127.0.0.1:5000"))
}

func TestPushOfAMandatoryModuleWithItsDescriptorInTheRegistry(t *testing.T) {
	folder := copyOf(t, "testdata/widget")
	edit(t, filepath.Join(folder, "module-config.yaml"), "channels: [regular]", "mandatory: true")
	got := module(t, "push", folder, "--registry", newRegistry(t), "--plain-http", "--descriptor", "none")
	require.Equal(t, 0, got.code, got.err)
	require.Contains(t, got.out, "  descriptor: {}\n")
	require.Contains(t, got.out, "  mandatory:\n    version: 1.2.3\n")
	require.Contains(t, got.out, "  mandatory: true\n")
	require.NotContains(t, got.out, "channels:")
}

func TestPushWithoutChannelsPrintsNoReleaseMeta(t *testing.T) {
	folder := copyOf(t, "testdata/widget")
	edit(t, filepath.Join(folder, "module-config.yaml"), "channels: [regular]", "")
	got := module(t, "push", folder, "--registry", newRegistry(t), "--plain-http")
	require.Equal(t, 0, got.code, got.err)
	require.NotContains(t, got.out, "ModuleReleaseMeta")
}

func TestPushPrintsAListInJSON(t *testing.T) {
	got := module(t, "push", "testdata/widget", "--registry", newRegistry(t), "--plain-http", "-o", "json")
	require.Equal(t, 0, got.code, got.err)
	var list struct {
		Kind  string `json:"kind"`
		Items []struct {
			Kind string `json:"kind"`
		} `json:"items"`
	}
	require.NoError(t, json.Unmarshal([]byte(got.out), &list))
	require.Equal(t, "List", list.Kind)
	require.Len(t, list.Items, 2)
	require.Equal(t, "ModuleTemplate", list.Items[0].Kind)
	require.Equal(t, "ModuleReleaseMeta", list.Items[1].Kind)
}

func TestPushTwiceAndWithDifferentContent(t *testing.T) {
	address := newRegistry(t)
	folder := copyOf(t, "testdata/widget")
	first := module(t, "push", folder, "--registry", address, "--plain-http")
	require.Equal(t, 0, first.code, first.err)

	second := module(t, "push", folder, "--registry", address, "--plain-http")
	require.Equal(t, 0, second.code, second.err)
	require.Equal(t, first.out, second.out)
	require.Contains(t, second.err, "kyma-project.io/module/widget:1.2.3 is already in ")

	edit(t, filepath.Join(folder, "default-cr.yaml"), "enabled: y", "enabled: n")
	third := module(t, "push", folder, "--registry", address, "--plain-http")
	require.Equal(t, 4, third.code)
	require.Empty(t, third.out)
	require.Contains(t, third.err, "exists with different content: resource default-cr differs")

	fourth := module(t, "push", folder, "--registry", address, "--plain-http", "--overwrite")
	require.Equal(t, 0, fourth.code, fourth.err)
	require.NotEqual(t, first.out, fourth.out)
}

func TestPushOfAModuleWithErrorsPushesNothing(t *testing.T) {
	address := newRegistry(t)
	folder := copyOf(t, "testdata/widget")
	edit(t, filepath.Join(folder, "default-cr.yaml"), "kind: Widget", "kind: Gadget")
	got := module(t, "push", folder, "--registry", address, "--plain-http")
	require.Equal(t, 1, got.code)
	require.Empty(t, got.out)
	require.Contains(t, got.err, "error: "+filepath.Join(folder, "default-cr.yaml")+": document 1 (Gadget default): the module has no CustomResourceDefinition for Gadget.example.com")

	repaired := module(t, "push", "testdata/widget", "--registry", address, "--plain-http")
	require.Contains(t, repaired.err, "pushed ")
}

func TestCreateWritesAnArchiveOnce(t *testing.T) {
	archive := filepath.Join(t.TempDir(), "widget.ctf")
	got := module(t, "create", "testdata/widget", "--archive", archive)
	require.Equal(t, 0, got.code, got.err)
	require.FileExists(t, filepath.Join(archive, "artifact-index.json"))
	require.Contains(t, got.out, "repositoryContexts: []\n")
	require.Contains(t, got.out, "kind: ModuleReleaseMeta\n")

	again := module(t, "create", "testdata/widget", "--archive", archive)
	require.Equal(t, 3, again.code)
	require.Contains(t, again.err, "the archive already exists: "+archive)
}

func TestLintPrintsFindings(t *testing.T) {
	good := module(t, "lint", "testdata/widget")
	require.Equal(t, outcome{0, "module testdata/widget: 2 objects, no errors\n", ""}, good)

	folder := copyOf(t, "testdata/widget")
	edit(t, filepath.Join(folder, "module-config.yaml"), "1.2.3", "v1.2.3")
	bad := module(t, "lint", folder, "-o", "json")
	require.Equal(t, 1, bad.code)
	var report struct {
		Findings []struct{ Severity, File, Where, Message string } `json:"findings"`
	}
	require.NoError(t, json.Unmarshal([]byte(bad.out), &report))
	require.NotEmpty(t, report.Findings)
	require.Equal(t, "version", report.Findings[0].Where)
	require.Equal(t, "error", report.Findings[0].Severity)
}

func TestWrongUsage(t *testing.T) {
	for name, test := range map[string]struct {
		arguments []string
		want      string
	}{
		"an unknown command":            {[]string{"ship"}, `unknown command "ship"`},
		"an unknown flag":               {[]string{"lint", "--fast"}, "unknown flag: --fast"},
		"two folders":                   {[]string{"lint", "a", "b"}, "takes one folder"},
		"push without a registry":       {[]string{"push", "testdata/widget"}, `required flag(s) "registry" not set`},
		"a registry with a scheme":      {[]string{"push", "testdata/widget", "--registry", "http://a:5000"}, "leave out the scheme"},
		"an invalid registry address":   {[]string{"push", "testdata/widget", "--registry", "a b"}, "--registry a b"},
		"a user without a password":     {[]string{"push", "testdata/widget", "--registry", "a:5000", "--username", "ci"}, "--username needs --password-stdin"},
		"a password without a user":     {[]string{"push", "testdata/widget", "--registry", "a:5000", "--password-stdin"}, "--password-stdin needs --username"},
		"an unknown format":             {[]string{"push", "testdata/widget", "--registry", "a:5000", "-o", "xml"}, "unknown output format"},
		"an unknown format of findings": {[]string{"lint", "testdata/widget", "-o", "xml"}, "use text or json"},
		"an unknown descriptor form":    {[]string{"create", "testdata/widget", "--archive", "a", "--descriptor", "v3"}, "unknown descriptor form"},
		"create without an archive":     {[]string{"create", "testdata/widget"}, `required flag(s) "archive" not set`},
	} {
		t.Run(name, func(t *testing.T) {
			got := module(t, test.arguments...)
			require.Equal(t, 2, got.code, got.err)
			require.Contains(t, got.err, test.want)
			require.Empty(t, got.out)
		})
	}
}

func TestUnreachableRegistryHasItsOwnExitCode(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	server := httptest.NewServer(nil)
	address := strings.TrimPrefix(server.URL, "http://")
	server.Close()
	got := module(t, "push", "testdata/widget", "--registry", address, "--plain-http")
	require.Equal(t, 3, got.code)
	require.Contains(t, got.err, address)
}

func TestInvalidChannelIsAModuleError(t *testing.T) {
	got := module(t, "push", "testdata/widget", "--registry", newRegistry(t), "--plain-http", "--channel", "Fast")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.err, `channel "Fast"`)
}

func copyOf(t *testing.T, folder string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "module")
	content, err := fs.Sub(testdata, folder)
	require.NoError(t, err)
	require.NoError(t, os.CopyFS(path, content))
	return path
}

func edit(t *testing.T, path, from, to string) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(data), from)
	require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(string(data), from, to)), 0o600))
}
