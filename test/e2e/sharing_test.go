package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Several Kymas, each with a cluster of its own, and with the same module for the control plane's own cluster have one installation of it, in one version,
// which goes with the last of them.
func TestKymasShareAModuleOfTheControlPlane(t *testing.T) {
	s := newStage(t, "--allow-control-plane-modules")
	s.pushOne(tiny{name: "common", config: "target: control-plane"})
	s.pushOne(tiny{name: "common", version: "2.0.0", channels: "fast, regular=1.0.0", config: "target: control-plane"})
	s.instance.start()

	s.at(0).create(newSynced("sharing-a", "common"))
	s.becomesReady("sharing-a", "common@1.0.0")
	s.at(1).create(newSynced("sharing-b", "common"))
	s.becomesReady("sharing-b", "common@1.0.0")
	installed := s.tinies(t, s.controlPlane, "common")
	require.Len(t, installed, 1, "one installation")
	for _, remote := range s.remotes {
		require.Empty(t, s.tinies(t, remote, "common"))
	}

	other := newSynced("sharing-c", "common")
	other.Spec.Modules[0].Channel = "fast"
	s.at(2).create(other)
	s.refuses(t, "sharing-c", map[string]refusedModule{"common": {
		shared.StateWarning,
		"module common is shared in the control plane with Kyma kcp-system/sharing-a, which has it in version 1.0.0: version 2.0.0 is refused",
		"SharedModuleVersion",
	}})
	require.Equal(t, installed, s.tinies(t, s.controlPlane, "common"))

	t.Run("when the one that installed it goes, the next one has it, and nothing is made anew", func(t *testing.T) {
		s.removeKyma("sharing-a")
		s.sweeps(t, 1)
		s.becomesReady("sharing-b", "common@1.0.0")
		require.Equal(t, installed, s.tinies(t, s.controlPlane, "common"))
	})
	t.Run("when nobody has the other version any more, the one that was refused gets its own", func(t *testing.T) {
		s.removeKyma("sharing-b")
		s.becomesReady("sharing-c", "common@2.0.0")
		require.Len(t, s.tinies(t, s.controlPlane, "common"), 1)
	})
	t.Run("the last one removes it", func(t *testing.T) {
		s.removeKyma("sharing-c")
		require.Empty(t, s.tinies(t, s.controlPlane, "common"))
		require.Empty(t, s.ofModule(t, s.controlPlane))
	})
}

// tinies are the uids of what a tiny module has in a cluster, by namespace.
func (s *stage) tinies(t *testing.T, c cluster, module string) map[string]types.UID {
	t.Helper()
	var list corev1.ConfigMapList
	require.NoError(t, c.List(t.Context(), &list, client.MatchingFields{"metadata.name": module}))
	found := map[string]types.UID{}
	for _, configMap := range list.Items {
		found[configMap.Namespace] = configMap.UID
	}
	return found
}

// A module for the remote cluster is never installed into the control plane for want of one.
func TestAModuleForTheRemoteClusterIsNotInstalledWithoutOne(t *testing.T) {
	s := newStage(t, "--allow-control-plane-modules")
	s.pushOne(tiny{name: "afar", channels: "regular", config: "target: remote"})
	s.pushOne(tiny{name: "nearby", channels: "regular", config: "target: control-plane"})
	s.instance.start()

	off := false
	kyma := newKyma("unsynced", "afar", "nearby")
	kyma.Spec.Sync = &v1beta2.Sync{Enabled: &off, Namespace: "unsynced"}
	require.NoError(t, s.controlPlane.Create(t.Context(), kyma))
	s.readyAmongOthers("unsynced", "nearby", "1.0.0")
	s.eventually("it says so", 2*time.Minute, func(c *assert.CollectT) {
		found := s.kyma("unsynced")
		afar := byName(found.Status.Modules)["afar"]
		assert.Equal(c, shared.StateError, afar.State)
		assert.Equal(c, "module afar is for the remote cluster, but synchronization is switched off (spec.sync.enabled)", afar.Message)
		assert.Equal(c, shared.StateError, found.Status.State)
		assert.NotEmpty(c, s.warnings(found)["SyncDisabled"])
	})
	require.Empty(t, s.tinies(t, s.controlPlane, "afar"))
	require.Empty(t, s.tinies(t, s.remote, "afar"))
	require.Len(t, s.manifests(kyma), 1)
	require.Empty(t, s.remoteKymas(t))
}
