package shared_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

func TestManifestName(t *testing.T) {
	cases := []struct {
		name                    string
		kyma, component, module string
		want                    string
	}{
		{
			"the documented example",
			"24bd3cbf-454a-4075-baa6-113a23fdfcd0", "kyma.project.io/module/btp-operator", "btp-operator",
			"24bd3cbf-454a-4075-baa6-113a23fdfcd0-btp-operator-4128321918",
		},
		{
			"another module name of the same component changes the hash",
			"k", "kyma.project.io/module/btp-operator", "btp", "k-btp-operator-3827334609",
		},
		{
			"62 characters are unchanged",
			strings.Repeat("k", 38), "kyma.project.io/module/btp-operator", "btp-operator",
			strings.Repeat("k", 38) + "-btp-operator-4128321918",
		},
		{
			"63 characters are cut to 62",
			strings.Repeat("k", 39), "kyma.project.io/module/btp-operator", "btp-operator",
			strings.Repeat("k", 39) + "-btp-operator-412832191",
		},
		{
			"a trailing dash is removed after truncation",
			strings.Repeat("k", 48), "kyma.project.io/module/btp-operator", "btp-operator",
			strings.Repeat("k", 48) + "-btp-operator",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := shared.ManifestName(c.kyma, c.component, c.module)
			require.Equal(t, c.want, got)
			require.LessOrEqual(t, len(got), 62)
		})
	}
}

func TestStateIsKnown(t *testing.T) {
	for _, state := range []string{"", "Ready", "Processing", "Error", "Warning", "Deleting", "Unmanaged"} {
		require.True(t, shared.State(state).IsKnown(), state)
	}
	for _, state := range []string{"ready", "Healthy", "Ready "} {
		require.False(t, shared.State(state).IsKnown(), state)
	}
}

func TestConditionMessages(t *testing.T) {
	cases := map[string]struct{ whenTrue, whenFalse string }{
		"Modules": {"all modules are in ready state", "not all modules are in ready state"},
		"ModuleCatalog": {
			"module templates are synchronized",
			"module templates are out of sync and need to be resynchronized",
		},
		"CRDsSync": {"CRDs are synchronized to the SKR", "CRDs are not synchronized to the SKR"},
		"SKRWebhook": {
			"skrwebhook is synchronized",
			"skrwebhook is out of sync and needs to be resynchronized",
		},
		"SKRImagePullSecretSync": {
			"skr image pull secret is synchronized",
			"skr image pull secret is out of sync and needs to be resynchronized",
		},
		"VirtualService": {"", ""},
	}
	for condition, want := range cases {
		t.Run(condition, func(t *testing.T) {
			require.Equal(t, want.whenTrue, shared.ConditionMessage(shared.ConditionType(condition), true))
			require.Equal(t, want.whenFalse, shared.ConditionMessage(shared.ConditionType(condition), false))
		})
	}
}

// Users and their tools search for these words.
func TestMessages(t *testing.T) {
	require.Equal(t, "no versions found for channel: fast in module keda",
		shared.NoVersionsForChannel("fast", "keda"))
	require.Equal(t, "module template update not allowed: ignore channel skew (from fast to regular), "+
		"as a higher version (1.3.0) of the module was previously installed",
		shared.IgnoredChannelSkew("fast", "regular", "1.3.0"))
	require.Equal(t, "module template not allowed: internal module", shared.ModuleNotAllowed(shared.MessageInternalModule))
	require.Equal(t, "module template not allowed: beta module", shared.ModuleNotAllowed(shared.MessageBetaModule))
	require.Equal(t, "module template not allowed: restricted module not allowed for this Kyma",
		shared.ModuleNotAllowed(shared.MessageRestrictedModule))
	require.Equal(t, "waiting as other finalizers are present: [a b]",
		shared.OtherFinalizersPresent([]string{"a", "b"}))
}

func TestRemoteAgentNamesShareASuffix(t *testing.T) {
	t.Parallel()
	require.Equal(t, shared.ManifestName("one", shared.AgentComponent, shared.AgentName), shared.RemoteAgentName("one"))
	long := strings.Repeat("k", 62)
	for _, kyma := range []string{"one", "24bd3cbf-454a-4075-baa6-113a23fdfcd0", long, long + "k"} {
		name := shared.RemoteAgentName(kyma)
		require.LessOrEqual(t, len(name), 62, kyma)
		require.True(t, shared.IsRemoteAgentName(name), kyma)
		require.Equal(t, "RemoteAgent", shared.KindOfInstallation(name))
	}
	require.NotEqual(t, shared.RemoteAgentName(long), shared.RemoteAgentName(long+"k"))
	require.Equal(t, "Manifest", shared.KindOfInstallation(shared.ManifestName("one", "kyma-project.io/module/agent", "agent")))
}
