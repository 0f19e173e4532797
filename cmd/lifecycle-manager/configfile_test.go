package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// readFrom are the flags of run with a configuration file and a command line.
func readFrom(t *testing.T, content string, line ...string) (*flags, *pflag.FlagSet, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
	f := &flags{}
	command := newRunCommand()
	command.ResetFlags()
	f.groups().AddTo(command)
	require.NoError(t, command.ParseFlags(append([]string{"--config", file}, line...)))
	err := f.read(command.Flags())
	return f, command.Flags(), err
}

func TestAFileHasTheSameSettingsAsTheCommandLine(t *testing.T) {
	f, set, err := readFrom(t, `
role: workers
leader-elect: true
k8s-client-qps: 1000
remote-slots: 50
resync-interval: 90s
restricted-default-modules: [keda, "a,b"]
log-level: debug
istio-namespace: istio-system
max-concurrent-kyma-reconciles: 50
`)
	require.NoError(t, err)
	require.Equal(t, roleWorkers, f.role)
	require.True(t, f.leaderElect)
	require.InDelta(t, 1000, f.clientQPS, 0)
	require.Equal(t, 50, f.slots.Remote)
	require.Equal(t, 90*time.Second, f.resyncInterval)
	require.Equal(t, []string{"keda", "a,b"}, f.settings.RestrictedModules)
	require.Equal(t, "1m30s", instanceSettings(set)["resync-interval"])
	require.NotContains(t, instanceSettings(set), "config", "where it says so is a matter of the process")
}

func TestTheCommandLineGoesBeforeTheFile(t *testing.T) {
	f, _, err := readFrom(t, "role: workers\nresync-interval: 90s\nrestricted-default-modules: [keda]\npurge-finalizer-timeout: 1h\n",
		"--role", "watchers", "--restricted-default-modules", "other", "--purge-grace-period", "2h")
	require.NoError(t, err)
	require.Equal(t, roleWatchers, f.role)
	require.Equal(t, []string{"other"}, f.settings.RestrictedModules)
	require.Equal(t, 90*time.Second, f.resyncInterval)
	require.Equal(t, 2*time.Hour, f.settings.Purge.Grace, "by its other name")
}

func TestAPathOfThePolicyInTheFileIsOneThatSomebodyChose(t *testing.T) {
	f, _, err := readFrom(t, "maintenance-policy-path: /somewhere/policy.json\n")
	require.NoError(t, err)
	require.True(t, f.maintenance.named())
	f, _, err = readFrom(t, "")
	require.NoError(t, err)
	require.False(t, f.maintenance.named())
}

func TestAFileThatIsNotRightIsRefusedByTheNameOfItsKey(t *testing.T) {
	for name, test := range map[string]struct{ content, says string }{
		"an unknown key":             {"rolle: workers", "rolle: unknown setting"},
		"a file within a file":       {"config: other.yaml", "config: unknown setting"},
		"a key that is there twice":  {"role: all\nrole: workers", `key "role" already set`},
		"a number as text":           {`remote-slots: "50"`, "remote-slots: must be a number"},
		"text for a number":          {"k8s-client-qps: many", "k8s-client-qps: must be a number"},
		"a fraction of a slot":       {"remote-slots: 1.5", "remote-slots: "},
		"text for a truth":           {`leader-elect: "yes please"`, "leader-elect: must be true or false"},
		"a number for a duration":    {"resync-interval: 90", "resync-interval: must be a duration"},
		"a duration that is none":    {"resync-interval: soon", "resync-interval: "},
		"text for a list":            {"restricted-default-modules: keda", "restricted-default-modules: must be a list"},
		"a list with a number":       {"restricted-default-modules: [1]", "restricted-default-modules: must be a list"},
		"a number for text":          {"sync-namespace: 5", "sync-namespace: must be text"},
		"nothing":                    {"sync-namespace:", "sync-namespace: must be text"},
		"what the flag refuses also": {"role: cook", "--role must be"},
		"no slot":                    {"workflow-slots: 0", "--workflow-slots must be at least 2"},
		"no name of a module":        {"inject-data-from-kcp-modules: [a/b]", "--inject-data-from-kcp-modules must be names of modules"},
		"a path below no registry":   {"modules-repository-subpath: a", "needs a registry: set --oci-registry-host or --oci-registry-cred-secret"},
		"no mapping":                 {"- role", "cannot unmarshal array"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := readFrom(t, test.content)
			require.ErrorContains(t, err, test.says)
		})
	}
}

func TestAConfigurationFileThatIsNotThereIsWrongUsage(t *testing.T) {
	code, _, problems := call(t, "run", "--config", filepath.Join(t.TempDir(), "nowhere.yaml"))
	require.Equal(t, exitUsage, code)
	require.Contains(t, problems, "no such file")
}
