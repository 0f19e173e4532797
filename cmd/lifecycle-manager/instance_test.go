package main

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/agreement"
)

// settingsOf are the flags of run as given.
func settingsOf(t *testing.T, args ...string) map[string]string {
	t.Helper()
	cmd := newRunCommand()
	require.NoError(t, cmd.ParseFlags(args))
	return instanceSettings(cmd.Flags())
}

func TestWhatIsASettingOfTheInstance(t *testing.T) {
	plain := settingsOf(t)
	for name, tc := range map[string]struct {
		arg      string
		instance bool
	}{
		"where modules go":             {"--mode=single-cluster", true},
		"the remote namespace":         {"--sync-namespace=other", true},
		"the remote Kyma's name":       {"--remote-kyma-name=other", true},
		"the registry":                 {"--oci-registry-host=registry.example.com", true},
		"the registry's credentials":   {"--oci-registry-cred-secret=creds", true},
		"modules in the control plane": {"--allow-control-plane-modules", true},
		"signatures":                   {"--signature-policy=require", true},
		"restricted modules":           {"--restricted-default-modules=keda", true},
		"the grace period":             {"--purge-grace-period=1h", true},
		"what a purge never takes off": {"--skip-finalizer-purging-for=a/b", true},
		"a window's least size":        {"--min-maintenance-window-size=5m", true},
		"the roll-out's span":          {"--module-upgrade-rollout-max-delay=2h", true},
		"an address":                   {"--metrics-bind-address=:1", false},
		"the role":                     {"--role=workers", false},
		"a log level":                  {"--log-level=debug", false},
		"concurrency":                  {"--remote-slots=5", false},
		"the path of the policy":       {"--maintenance-policy-path=/somewhere/else.json", false},
		"a cache":                      {"--artifact-cache-dir=/tmp", false},
	} {
		t.Run(name, func(t *testing.T) {
			changed := settingsOf(t, tc.arg)
			require.Equal(t, tc.instance, len(agreement.Differing(plain, changed)) > 0)
		})
	}
	require.Equal(t, settingsOf(t, "--restricted-default-modules=a,b"), settingsOf(t, "--restricted-default-modules=b", "--restricted-default-modules=a"))
}

func TestEveryFlagOfAProcessExists(t *testing.T) {
	flags := newRunCommand().Flags()
	names := ofProcess()
	for _, name := range names {
		if name != "help" {
			require.NotNil(t, flags.Lookup(name), name)
		}
	}
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(names))), len(names))
}

func TestInstancesHaveRecordsOfTheirOwn(t *testing.T) {
	first, second := recordOf(&flags{}), recordOf(&flags{settings: desired.Settings{ManagedBy: "Second/One"}})
	require.Equal(t, "kcp-system/lifecycle-manager-settings", first.String())
	require.NotEqual(t, first.Name, second.Name)
	require.Equal(t, "elsewhere", recordOf(&flags{leaderElectionNamespace: "elsewhere"}).Namespace)
}
