package e2e

import (
	"maps"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
)

// What is for the control plane's own cluster is installed there, once, and nothing else is.
func TestTheControlPlaneHasTheModulesThatAreForIt(t *testing.T) {
	s := harness.NewMultiClusterEnvironment(t, "--allow-control-plane-modules")
	s.Instance.Start()
	t.Run("a module for the remote cluster is not installed without one", func(t *testing.T) { remoteModuleStaysOut(t, s) })

	s.Instance.Stop()
	s.SweepOften() // a pass is spread over the Kymas of its shard, and it takes minutes if two are in one and passes are rare
	s.Instance.Start()
	t.Run("Kymas share a module of the control plane", func(t *testing.T) { kymasShare(t, s) })
	t.Run("a Kyma that is synchronized into the control plane affects no other", func(t *testing.T) { kymaInside(t, s) })
}

// A module for the remote cluster is never installed into the control plane instead.
func remoteModuleStaysOut(t *testing.T, s *harness.Environment) {
	t.Helper()
	s.PushModule(harness.MinimalModule{Name: "afar", Channels: "regular", Config: "target: remote"})
	s.PushModule(harness.MinimalModule{Name: "nearby", Channels: "regular", Config: "target: control-plane"})

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
	s.RemoveKyma("unsynced")
}

// Several Kymas, each with a cluster of its own, and with the same module for the control plane's own cluster have one
// installation of it, in one version, which goes with the last of them.
func kymasShare(t *testing.T, s *harness.Environment) {
	t.Helper()
	s.PushModule(harness.MinimalModule{Name: "common", Config: "target: control-plane"})
	s.PushModule(harness.MinimalModule{Name: "common", Version: "2.0.0", Channels: "fast, regular=1.0.0", Config: "target: control-plane"})

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

// A Kyma whose access leads to the control plane's own cluster is served there where that is allowed, in a namespace of
// its own, and its deletion takes nothing that is not its own.
func kymaInside(t *testing.T, s *harness.Environment) {
	t.Helper()
	s.PushMinimal("steady")
	s.PushMinimal("inner")
	s.Create(harness.NewSynced("outside", "steady"))
	s.BecomesReady("outside", "steady@1.0.0")
	originals := originalsIn(t, s)
	outside := untouched(t, s, "outside", "steady")

	access, err := os.ReadFile(s.ControlPlane.Access)
	require.NoError(t, err)
	s.GiveAccess("inside", access)
	kyma := harness.NewSynced("inside", "inner")
	kyma.Spec.Sync.ModuleCatalog = nil
	require.NoError(t, s.ControlPlane.Create(t.Context(), kyma))
	s.BecomesReady("inside", "inner@1.0.0")
	require.Len(t, s.MinimalUIDs(t, s.ControlPlane, "inner"), 1)
	copied := client.ObjectKey{Namespace: "inside", Name: "inside"}
	var remote v1beta2.Kyma
	s.Eventually("its copy has the status", 2*time.Minute, func(c *assert.CollectT) {
		require.NoError(c, s.ControlPlane.Get(t.Context(), copied, &remote))
		assert.Equal(c, shared.StateReady, remote.Status.State)
	})
	require.Empty(t, s.WorkflowOf(&remote), "the copy is not reconciled")
	require.Empty(t, remote.Finalizers)
	harness.Edit(t, s.ControlPlane, &remote, func(k *v1beta2.Kyma) { k.Spec.Modules = []v1beta2.Module{{Name: "steady"}} })
	s.BecomesReady("inside", "inner@1.0.0", "steady@1.0.0")

	s.RemoveKyma("inside")
	s.Sweeps(t, 1)
	require.Empty(t, s.MinimalUIDs(t, s.ControlPlane, "inner"))
	require.True(t, apierrors.IsNotFound(s.ControlPlane.Get(t.Context(), copied, &remote)))
	var templates v1beta2.ModuleTemplateList
	require.NoError(t, s.ControlPlane.List(t.Context(), &templates, client.InNamespace("inside")))
	require.Empty(t, templates.Items, "its catalog goes with it")
	require.Equal(t, originals, originalsIn(t, s))
	s.BecomesReady("outside", "steady@1.0.0")
	require.Equal(t, outside, untouched(t, s, "outside", "steady"))
}

// originalsIn are the uids of everything in the control plane that a synchronization could mistake for its own.
func originalsIn(t *testing.T, s *harness.Environment) map[string]types.UID {
	t.Helper()
	found := map[string]types.UID{}
	for kind, list := range map[string]client.ObjectList{
		"CustomResourceDefinition": &apiextensionsv1.CustomResourceDefinitionList{},
		"ModuleTemplate":           &v1beta2.ModuleTemplateList{},
		"ModuleReleaseMeta":        &v1beta2.ModuleReleaseMetaList{},
		"Kyma":                     &v1beta2.KymaList{},
		"Namespace":                &corev1.NamespaceList{},
	} {
		require.NoError(t, s.ControlPlane.List(t.Context(), list))
		require.NoError(t, meta.EachListItem(list, func(o runtime.Object) error {
			object, err := meta.Accessor(o)
			found[kind+" "+object.GetNamespace()+"/"+object.GetName()] = object.GetUID()
			return err
		}))
	}
	maps.DeleteFunc(found, func(key string, _ types.UID) bool { return key == "Namespace /inside" })
	return found
}
