package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
)

// call runs a command line.
func call(t *testing.T, arguments ...string) (code int, out, problems string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = execute(t.Context(), arguments, streams{in: strings.NewReader(""), out: &stdout, err: &stderr})
	return code, stdout.String(), stderr.String()
}

func TestExitCodesTellWrongUsageFromFailure(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "nowhere.yaml")
	for name, test := range map[string]struct {
		line string
		code int
		says string
	}{
		"an unknown command":              {"statu", exitUsage, `unknown command "statu"`},
		"an unknown flag":                 {"status --bogus", exitUsage, "unknown flag: --bogus"},
		"two Kymas":                       {"status a b", exitUsage, "accepts at most 1 arg"},
		"no Kyma to purge":                {"purge", exitUsage, "accepts 1 arg"},
		"an unknown output":               {"status -o yaml", exitUsage, "--output must be tree, wide or json"},
		"a time-out that is none":         {"status --timeout soon", exitUsage, "invalid argument"},
		"a flag of run that cannot be":    {"run --role cook", exitUsage, "--role must be"},
		"access that nobody knows":        {"run --access-secret-allow exec", exitUsage, `--access-secret-allow must be http, insecure-skip-tls-verify, proxy-url, files, not "exec"`},
		"a kubeconfig that is not there":  {"status --kubeconfig " + nowhere, exitFailed, "no such file"},
		"a context that is not there":     {"status --context nowhere", exitFailed, "nowhere"},
		"no file to plan with":            {"plan", exitFailed, "--filename must be set"},
		"a flag that plan has not":        {"plan --bogus", exitFailed, "unknown flag: --bogus"},
		"a file that is not there":        {"plan -f /nowhere/file.yaml", exitFailed, "no such file"},
		"an output that check has not":    {"check -o yaml", exitUsage, "--output must be text or json"},
		"flags that run refuses":          {"check --role cook", exitUsage, "--role must be"},
		"an archive without a name":       {"support-bundle", exitUsage, "--output must name a file"},
		"the version":                     {"--version", exitDone, ""},
		"the definitions of this version": {"crds", exitDone, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", nowhere)
			code, _, problems := call(t, strings.Fields(test.line)...)
			require.Equal(t, test.code, code, problems)
			require.Contains(t, problems, test.says)
		})
	}
}

func TestTheHelpOfRunHasItsFlagsInGroups(t *testing.T) {
	code, help, _ := call(t, "run", "--help")
	require.Equal(t, exitDone, code)
	groups := (&flags{}).groups()
	seen := map[string]bool{}
	position := 0
	for _, group := range groups {
		heading := "\n" + group.Title + ":\n"
		found := strings.Index(help[position:], heading)
		require.NotEqual(t, -1, found, "%s is missing, or not in its place", group.Title)
		position += found + len(heading)
		within, _, _ := strings.Cut(help[position:], "\n\n")
		group.Set.VisitAll(func(flag *pflag.Flag) {
			require.False(t, seen[flag.Name], "--%s is in two groups", flag.Name)
			seen[flag.Name] = true
			require.Contains(t, within, "--"+flag.Name, "in group %s", group.Title)
		})
	}
	newRunCommand().Flags().VisitAll(func(flag *pflag.Flag) {
		require.True(t, seen[flag.Name], "--%s is in no group", flag.Name)
	})
}

func TestAFlagPermitsWhatAccessSecretsMayNotDo(t *testing.T) {
	f := &flags{}
	command := newRunCommand()
	command.ResetFlags()
	f.groups().AddTo(command)
	require.NoError(t, command.ParseFlags([]string{"--access-secret-allow", "proxy-url,http"}))
	require.NoError(t, f.check())
	require.Equal(t, clusters.Allow{HTTP: true, Proxy: true}, f.access.allowed())
	require.Equal(t, clusters.Allow{}, (&accessFlags{}).allowed(), "nothing by default")
	require.Equal(t, clusters.Allow{HTTP: true, InsecureTLS: true, Proxy: true, Files: true}, (&accessFlags{allow: (&accessFlags{}).known()}).allowed())
}
