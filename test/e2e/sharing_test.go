package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
)

// Several Kymas, each with a cluster of its own, and with the same module for the control plane's own cluster have one
// installation of it, in one version, which goes with the last of them.
func TestKymasShareAModuleOfTheControlPlane(t *testing.T) {
	s := harness.NewMultiClusterEnvironment(t, "--allow-control-plane-modules")
	s.SweepOften() // a pass is spread over the Kymas of its shard, and it takes minutes if two are in one and passes are rare
	s.PushModule(harness.MinimalModule{Name: "common", Config: "target: control-plane"})
	s.PushModule(harness.MinimalModule{Name: "common", Version: "2.0.0", Channels: "fast, regular=1.0.0", Config: "target: control-plane"})
	s.Instance.Start()

	s.At(0).Create(harness.NewSynced("sharing-a", "common"))
	s.BecomesReady("sharing-a", "common@1.0.0")
	s.At(1).Create(harness.NewSynced("sharing-b", "common"))
	s.BecomesReady("sharing-b", "common@1.0.0")
	installed := s.MinimalUIDs(t, s.ControlPlane, "common")
	require.Len(t, installed, 1, "one installation")
	for _, remote := range s.Remotes {
		require.Empty(t, s.MinimalUIDs(t, remote, "common"))
	}

	other := harness.NewSynced("sharing-c", "common")
	other.Spec.Modules[0].Channel = "fast"
	s.At(2).Create(other)
	refuses(t, s, "sharing-c", map[string]refusedModule{"common": {
		shared.StateWarning,
		"module common is shared in the control plane with Kyma kcp-system/sharing-a, which has it in version 1.0.0: version 2.0.0 is refused",
		"SharedModuleVersion",
	}})
	require.Equal(t, installed, s.MinimalUIDs(t, s.ControlPlane, "common"))

	t.Run("when the one that installed it is deleted, the next one owns it, and nothing is created again", func(t *testing.T) {
		s.RemoveKyma("sharing-a")
		s.Sweeps(t, 1)
		s.BecomesReady("sharing-b", "common@1.0.0")
		require.Equal(t, installed, s.MinimalUIDs(t, s.ControlPlane, "common"))
	})
	t.Run("when nobody has the other version any more, the one that was refused gets its own", func(t *testing.T) {
		s.RemoveKyma("sharing-b")
		s.BecomesReady("sharing-c", "common@2.0.0")
		require.Len(t, s.MinimalUIDs(t, s.ControlPlane, "common"), 1)
	})
	t.Run("the last one removes it", func(t *testing.T) {
		s.RemoveKyma("sharing-c")
		require.Empty(t, s.MinimalUIDs(t, s.ControlPlane, "common"))
		require.Empty(t, s.OfModule(t, s.ControlPlane))
	})
}

// A module for the remote cluster is never installed into the control plane instead.
func TestAModuleForTheRemoteClusterIsNotInstalledWithoutOne(t *testing.T) {
	s := harness.NewEnvironment(t, "--allow-control-plane-modules")
	s.PushModule(harness.MinimalModule{Name: "afar", Channels: "regular", Config: "target: remote"})
	s.PushModule(harness.MinimalModule{Name: "nearby", Channels: "regular", Config: "target: control-plane"})
	s.Instance.Start()

	off := false
	kyma := harness.NewKyma("unsynced", "afar", "nearby")
	kyma.Spec.Sync = &v1beta2.Sync{Enabled: &off, Namespace: "unsynced"}
	require.NoError(t, s.ControlPlane.Create(t.Context(), kyma))
	s.ReadyAmongOthers("unsynced", "nearby", "1.0.0")
	s.Eventually("the status says so", 2*time.Minute, func(c *assert.CollectT) {
		found := s.Kyma("unsynced")
		afar := harness.ModulesByName(found.Status.Modules)["afar"]
		assert.Equal(c, shared.StateError, afar.State)
		assert.Equal(c, "module afar is for the remote cluster, but synchronization is switched off (spec.sync.enabled)", afar.Message)
		assert.Equal(c, shared.StateError, found.Status.State)
		assert.NotEmpty(c, s.Warnings(found)["SyncDisabled"])
	})
	require.Empty(t, s.MinimalUIDs(t, s.ControlPlane, "afar"))
	require.Empty(t, s.MinimalUIDs(t, s.Remote, "afar"))
	require.Len(t, s.Manifests(kyma), 1)
	require.Empty(t, s.RemoteKymas(t))
}
