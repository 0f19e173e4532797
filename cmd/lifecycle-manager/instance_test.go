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
		"how events come":              {"--watcher-routing=direct", true},
		"where events are taken":       {"--kyma-skr-listener-bind-address=:1", false},
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

// The record that a process of 0.1.0 writes and compares with has these names, and no others.
func TestTheRecordOfDefaultsIsThatOf010(t *testing.T) {
	var names []string
	for name := range settingsOf(t) {
		names = append(names, name)
	}
	slices.Sort(names)
	require.Equal(t, []string{
		"access-secret-allow",
		"access-secret-namespace",
		"allow-control-plane-modules",
		"catalog-removal-max-kymas",
		"catalog-removal-max-percent",
		"catalog-removal-rate",
		"controller-name",
		"enable-purge-finalizer",
		"managed-by",
		"min-maintenance-window-size",
		"missing-api-timeout",
		"mode",
		"module-upgrade-rollout-max-delay",
		"modules-repository-subpath",
		"oci-registry-cred-secret",
		"oci-registry-host",
		"oci-registry-plain-http",
		"purge-finalizer-timeout",
		"purge-grace-period",
		"purge-orderly-attempt",
		"remote-kyma-name",
		"remote-template-registries",
		"restricted-default-modules",
		"resync-interval",
		"signature-policy",
		"skip-finalizer-purging-for",
		"skr-image-pull-secret",
		"stuck-workload-timeout",
		"sweep-shards",
		"sync-namespace",
	}, names, "a setting that is new belongs into addedLater")
	require.Contains(t, settingsOf(t, "--namespaces=a"), "namespaces", "where it is set, it counts")
	require.Equal(t, "other", settingsOf(t, "--watcher-routing=direct", "--istio-namespace=other")["istio-namespace"], "with events it counts")
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
