package main

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/agreement"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
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
		"the pacing span":              {"--module-upgrade-rollout-max-delay=2h", true},
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

// recordedBy is the record of an instance that runs with these flags.
func recordedBy(t *testing.T, namespace string, args ...string) *corev1.ConfigMap {
	t.Helper()
	own := settingsOf(t, args...)
	own[agreement.SettingPolicy] = ""
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: agreement.RecordName(own["managed-by"]),
		Labels: map[string]string{"operator.kyma-project.io/purpose": "instance-settings"},
	}, Data: own}
}

func TestACommandTakesFromTheRecordWhatItIsNotGiven(t *testing.T) {
	running := recordedBy(t, "releases", "--mode=single-cluster", "--oci-registry-host=http://registry.example.com/modules",
		"--purge-finalizer-timeout=1h", "--restricted-default-modules=keda,istio", "--resync-interval=90s", "--module-state-from=workloads",
		"--watcher-routing=istio", "--listener-gateway-cidrs=10.0.0.0/16")
	running.Data["of-a-later-release"] = "x"
	other := recordedBy(t, "releases", "--managed-by=other", "--resync-interval=7s")
	reader := fake.NewClientBuilder().WithObjects(running, other).Build()
	taken := func(args ...string) *flags {
		t.Helper()
		f := &flags{}
		command := newRunCommand()
		command.ResetFlags()
		f.groups().AddTo(command)
		require.NoError(t, command.ParseFlags(args))
		require.NoError(t, f.read(command.Flags()))
		_, err := f.takeRecorded(t.Context(), reader)
		require.NoError(t, err)
		return f
	}
	f := taken()
	require.Equal(t, desired.ModeSingleCluster, f.settings.Mode)
	require.Equal(t, "registry.example.com/modules", f.settings.DescriptorRepository)
	require.Equal(t, []string{"registry.example.com"}, f.plainHTTPHosts, "its scheme is known as well")
	require.Equal(t, time.Hour, f.settings.Purge.Grace)
	require.Equal(t, []string{"istio", "keda"}, f.settings.RestrictedModules)
	require.Equal(t, shared.StateFromWorkloads, f.settings.StateRule)
	require.Equal(t, desired.RoutingIstio, f.settings.Watching.Routing, "without the flags of its process")
	require.Equal(t, "releases", recordOf(f).Namespace, "the instance is there")

	f = taken("--mode=control-plane", "--purge-grace-period=2h", "--restricted-default-modules=other", "--oci-registry-host=mirror.example.com")
	require.Equal(t, desired.ModeControlPlane, f.settings.Mode, "what is given counts")
	require.Equal(t, 2*time.Hour, f.settings.Purge.Grace, "by its other name")
	require.Equal(t, []string{"other"}, f.settings.RestrictedModules)
	require.Equal(t, "mirror.example.com", f.settings.DescriptorRepository)
	require.Equal(t, 90*time.Second, f.resyncInterval)

	require.Equal(t, 7*time.Second, taken("--managed-by=other").resyncInterval)
	require.Equal(t, 5*time.Minute, taken("--managed-by=third").resyncInterval, "it has recorded nothing")
	require.Equal(t, 5*time.Minute, taken("--leader-election-namespace=elsewhere").resyncInterval)
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
	first, second := recordOf(&flags{}), recordOf(&flags{fleetFlags: fleetFlags{settings: desired.Settings{ManagedBy: "Second/One"}}})
	require.Equal(t, "kcp-system/lifecycle-manager-settings", first.String())
	require.NotEqual(t, first.Name, second.Name)
	require.Equal(t, "elsewhere", recordOf(&flags{leaseFlags: leaseFlags{leaderElectionNamespace: "elsewhere"}}).Namespace)
}
