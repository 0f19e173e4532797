package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
)

// addModule adds a module to the remote Kyma, as the owner of the cluster does.
func addModule(s *harness.Stage, module string) {
	s.T.Helper()
	s.EditRemote(func(k *v1beta2.Kyma) {
		k.Spec.Modules = append(k.Spec.Modules, v1beta2.Module{Name: module})
	})
}

// What befalls the access to one cluster is felt in that one alone.
func TestWhatBefallsTheAccessToOneClusterIsFeltInThatOneAlone(t *testing.T) {
	s := harness.NewWideStage(t)
	s.PushTiny("first")
	s.PushTiny("second")
	s.Instance.Start()
	rotated, cut, steady := s.At(0), s.At(1), s.At(2)
	old, fresh := rotated.NewAccount(t, "apart-old"), rotated.NewAccount(t, "apart-fresh")
	way, through := cut.Through(t)
	s.GiveAccess("rotated", old.Kubeconfig)
	s.GiveAccess("cut", through)
	steady.Give("steady")
	for _, name := range []string{"rotated", "cut", "steady"} {
		require.NoError(t, s.ControlPlane.Create(t.Context(), harness.NewKyma(name, "first")))
	}
	for _, name := range []string{"rotated", "cut", "steady"} {
		s.BecomesReady(name, "first@1.0.0")
	}

	way.Set(harness.CableSilent)
	s.GiveAccess("rotated", fresh.Kubeconfig)
	old.Revoke()
	for _, there := range []*harness.Stage{rotated, cut, steady} {
		addModule(there, "second")
	}
	s.BecomesReady("rotated", "first@1.0.0", "second@1.0.0")
	s.BecomesReady("steady", "first@1.0.0", "second@1.0.0")
	s.Eventually("only the one that is cut off says so", 2*time.Minute, func(c *assert.CollectT) {
		status := s.Kyma("cut").Status
		if assert.NotNil(c, status.Remote.Reachable) {
			assert.False(c, *status.Remote.Reachable)
		}
		assert.Contains(c, harness.ModulesByName(status.Modules)["first"].Message, "last known state Ready: the cluster cannot be reached since")
	})
	for _, name := range []string{"rotated", "steady"} {
		require.Equal(t, shared.StateReady, s.Kyma(name).Status.State)
		require.True(t, *s.Kyma(name).Status.Remote.Reachable)
	}
	require.Empty(t, s.Tinies(t, cut.Remote, "second"))

	way.Set(harness.CablePasses)
	s.BecomesReady("cut", "first@1.0.0", "second@1.0.0")
	for name, there := range map[string]*harness.Stage{"rotated": rotated, "cut": cut, "steady": steady} {
		require.Equal(t, string(there.RemoteKyma().UID), s.Kyma(name).Status.Remote.UID, "each Kyma has its own cluster")
		there.GiveAccess(name, there.RemoteAccess(t)) // accounts and cable end before the stage is cleared
	}
}

// Kymas of equal name in different namespaces have each its own cluster, also where one of them has no access.
func TestKymasOfEqualNameNeverGetEachOthersCluster(t *testing.T) {
	s := harness.NewWideStage(t)
	modules := []string{"dawn", "noon", "dusk"}
	for _, module := range modules {
		s.PushTiny(module)
	}
	s.Instance.Start()
	var twins []*v1beta2.Kyma
	for i, namespace := range []string{"twins-one", "twins-two", "twins-three"} {
		s.EnsureNamespace(s.ControlPlane, namespace)
		t.Cleanup(func() { s.RemoveNamespaces(s.ControlPlane, namespace) })
		twin := harness.NewKyma("twin", modules[i])
		twin.Namespace = namespace
		twins = append(twins, twin)
		require.NoError(t, s.ControlPlane.Create(t.Context(), s.At(i).AccessOf(twin)))
		require.NoError(t, s.ControlPlane.Create(t.Context(), twin))
	}
	isReady := func(twin *v1beta2.Kyma) {
		t.Helper()
		s.Eventually("the Kyma in "+twin.Namespace+" becomes Ready", 2*time.Minute, func(c *assert.CollectT) {
			require.NoError(c, s.ControlPlane.Get(t.Context(), client.ObjectKeyFromObject(twin), twin))
			assert.Equal(c, shared.StateReady, twin.Status.State)
			assert.Len(c, twin.Status.Modules, 1)
		})
	}
	hasOnlyItsOwn := func() {
		t.Helper()
		for i := range twins {
			isReady(twins[i])
			for j, module := range modules {
				require.Equal(t, i == j, len(s.Tinies(t, s.Remotes[i], module)) == 1, "%s in cluster %d", module, i+1)
			}
		}
	}
	hasOnlyItsOwn()

	require.NoError(t, s.ControlPlane.Delete(t.Context(), s.At(1).AccessOf(twins[1])))
	s.Eventually("the one without access says so", 2*time.Minute, func(c *assert.CollectT) {
		require.NoError(c, s.ControlPlane.Get(t.Context(), client.ObjectKeyFromObject(twins[1]), twins[1]))
		assert.Equal(c, "AccessSecretNotFound", twins[1].Status.Remote.Reason)
	})
	isReady(twins[0])
	isReady(twins[2])
	require.NoError(t, s.ControlPlane.Create(t.Context(), s.At(1).AccessOf(twins[1])))
	hasOnlyItsOwn()

	for i, twin := range twins {
		require.NoError(t, s.ControlPlane.Delete(t.Context(), twin))
		s.Eventually("the one in "+twin.Namespace+" is gone", 2*time.Minute, func(c *assert.CollectT) { assert.True(c, s.IsGone(twin)) })
		require.Empty(t, s.OfModule(t, s.Remotes[i]))
		for j := i + 1; j < len(twins); j++ {
			isReady(twins[j])
			require.Len(t, s.Tinies(t, s.Remotes[j], modules[j]), 1)
		}
	}
}

// Each owner gets what is asked for in the own cluster, and reads there what became of it.
func TestTheOwnersOfThreeClustersAskForDifferentThings(t *testing.T) {
	s := harness.NewWideStage(t)
	s.PushOne(harness.Tiny{Name: "common"})
	s.PushOne(harness.Tiny{Name: "common", Version: "2.0.0", Channels: "fast, regular=1.0.0"})
	s.PushTiny("extra")
	s.Instance.Start()
	faster, wider, mistaken := s.At(0), s.At(1), s.At(2)
	owners := map[string]*harness.Stage{"faster": faster, "wider": wider, "mistaken": mistaken}
	for name, there := range owners {
		there.Create(harness.NewKyma(name, "common"))
	}
	for name := range owners {
		s.BecomesReady(name, "common@1.0.0")
	}

	faster.EditRemote(func(k *v1beta2.Kyma) { k.Spec.Channel = "fast" })
	addModule(wider, "extra")
	mistaken.EditRemote(func(k *v1beta2.Kyma) { k.Spec.Channel = "nowhere" })
	s.BecomesReady("faster", "common@2.0.0")
	s.BecomesReady("wider", "common@1.0.0", "extra@1.0.0")
	reads := func(there *harness.Stage, modules map[string]string, state shared.State) {
		t.Helper()
		s.Eventually("the owner reads the status", 2*time.Minute, func(c *assert.CollectT) {
			remote := there.RemoteKyma()
			assert.Equal(c, state, remote.Status.State)
			have := map[string]string{}
			for name, module := range harness.ModulesByName(remote.Status.Modules) {
				have[name] = module.Version
			}
			assert.Equal(c, modules, have)
		})
	}
	reads(faster, map[string]string{"common": "2.0.0"}, shared.StateReady)
	reads(wider, map[string]string{"common": "1.0.0", "extra": "1.0.0"}, shared.StateReady)
	s.Eventually("the mistake is said where it was made", 2*time.Minute, func(c *assert.CollectT) {
		module := harness.ModulesByName(mistaken.RemoteKyma().Status.Modules)["common"]
		assert.Contains(c, module.Message, "nowhere")
		assert.Contains(c, module.Hint, "regular")
	})
	require.Equal(t, "1.0.0", mistaken.TinyVersion(harness.RemoteNamespace, "common"), "what runs goes on")

	others := map[string]string{"faster": string(faster.RemoteKyma().UID), "mistaken": string(mistaken.RemoteKyma().UID)}
	deleted := wider.RemoteKyma()
	require.NoError(t, wider.Remote.Delete(t.Context(), deleted))
	s.Eventually("the remote Kyma is back, as its owner left it", 2*time.Minute, func(c *assert.CollectT) {
		var back v1beta2.Kyma
		require.NoError(c, wider.Remote.Get(t.Context(), client.ObjectKeyFromObject(deleted), &back))
		assert.NotEqual(c, deleted.UID, back.UID)
		assert.Equal(c, deleted.Spec, back.Spec)
	})
	s.BecomesReady("wider", "common@1.0.0", "extra@1.0.0")
	for name, uid := range others {
		require.Equal(t, uid, string(owners[name].RemoteKyma().UID))
	}
}

// Two Kymas are deleted at once, each in another way: nothing of them is left in their clusters, and nothing is
// written to the third.
func TestTheDeletionOfKymasTouchesNoOtherCluster(t *testing.T) {
	s := harness.NewWideStage(t)
	s.Push("test/modules/sample/1.0.0")
	s.Instance.Start()
	names := []string{"background", "foreground", "staying"}
	for i, name := range names {
		s.At(i).Create(harness.NewKyma(name, "sample"))
	}
	for _, name := range names {
		s.BecomesReady(name, "sample@1.0.0")
	}
	s.BecomesIdle(s.Kyma("staying"))
	before := s.AtRest(t, s.Remotes[2])

	for name, propagation := range map[string]metav1.DeletionPropagation{
		"background": metav1.DeletePropagationBackground, "foreground": metav1.DeletePropagationForeground,
	} {
		require.NoError(t, s.ControlPlane.Delete(t.Context(), s.Kyma(name), client.PropagationPolicy(propagation)))
	}
	for i, name := range names[:2] {
		s.Eventually("Kyma "+name+" is gone", 2*time.Minute, func(c *assert.CollectT) {
			assert.True(c, s.IsGone(keyed(client.ObjectKey{Namespace: harness.ControlPlaneNamespace, Name: name})))
		})
		require.Empty(t, s.OfModule(t, s.Remotes[i]))
		s.Eventually("our definitions go with the last Kyma", 3*time.Minute, func(c *assert.CollectT) {
			assert.Empty(c, ourDefinitions(t, s.Remotes[i]))
		})
	}
	s.Sweeps(t, 1)
	require.Empty(t, harness.Differences(before, s.Versions(t, s.Remotes[2])))
	require.NotEmpty(t, ourDefinitions(t, s.Remotes[2]))
	s.BecomesReady("staying", "sample@1.0.0")
}

// ourDefinitions names the definitions of our own custom resources in a cluster.
func ourDefinitions(t *testing.T, c harness.Cluster) []string {
	t.Helper()
	var all apiextensionsv1.CustomResourceDefinitionList
	require.NoError(t, c.List(t.Context(), &all))
	var ours []string
	for _, definition := range all.Items {
		if definition.Spec.Group == v1beta2.GroupVersion.Group {
			ours = append(ours, definition.Name)
		}
	}
	return ours
}

// A purge ends one deletion that a finalizer holds and one whose cluster is lost, and writes nothing to a third
// cluster. The lost one can be taken into care again.
func TestAPurgeTouchesNoOtherCluster(t *testing.T) {
	const grace = 10 * time.Second
	s := harness.NewWideStage(t, "--purge-orderly-attempt", "2s", "--purge-grace-period", grace.String())
	s.Push("test/modules/sample/1.0.0")
	s.Instance.Start()
	held, lost, steady := s.At(0), s.At(1), s.At(2)
	way, through := lost.Through(t)
	s.GiveAccess("lost", through)
	require.NoError(t, s.ControlPlane.Create(t.Context(), harness.NewKyma("lost", "sample")))
	held.Create(harness.NewKyma("held", "sample"))
	steady.Create(harness.NewKyma("steady", "sample"))
	for _, name := range []string{"held", "lost", "steady"} {
		s.BecomesReady(name, "sample@1.0.0")
	}
	held.HoldSample(t, "example.com/nobody")
	way.Unplug()
	s.BecomesIdle(s.Kyma("steady"))
	before := s.AtRest(t, steady.Remote)

	purged := []*v1beta2.Kyma{s.Kyma("held"), s.Kyma("lost")}
	for _, kyma := range purged {
		require.NoError(t, s.ControlPlane.Delete(t.Context(), kyma))
	}
	// Whoever restarts it, and whatever Temporal has lost, the grace is that from the moment of the deletion.
	s.Instance.Kill()
	s.Namespace, s.Temporal = s.NewTemporalNamespace()
	s.Instance.Start()
	for _, kyma := range purged {
		s.Eventually("Kyma "+kyma.Name+" is gone", grace+3*time.Minute, func(c *assert.CollectT) { assert.True(c, s.IsGone(kyma)) })
	}
	s.Eventually("nothing of the held one is left", 3*time.Minute, func(c *assert.CollectT) {
		assert.Empty(c, s.OfModule(t, held.Remote))
	})
	s.Warns(purged[0], "Purged", "loses its finalizers example.com/nobody")
	s.Warns(purged[1], "PurgeLetGo", "left there")
	require.NotEmpty(t, s.OfModule(t, lost.Remote), "what nobody could reach is there")
	require.Empty(t, harness.Differences(before, s.Versions(t, steady.Remote)))
	s.BecomesReady("steady", "sample@1.0.0")

	lost.GiveAccess("lost", lost.RemoteAccess(t))
	require.NoError(t, s.ControlPlane.Create(t.Context(), harness.NewKyma("lost", "sample")))
	s.BecomesReady("lost", "sample@1.0.0")
	s.RemoveKyma("lost")
	require.Empty(t, s.OfModule(t, lost.Remote))
}
