package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/cluster"
	"github.com/kyma-project/lifecycle-manager/test/harness/proxy"
)

// addModule adds a module to the remote Kyma, as the owner of the cluster does.
func addModule(s *harness.Environment, module string) {
	s.T.Helper()
	s.EditRemote(func(k *v1beta2.Kyma) {
		k.Spec.Modules = append(k.Spec.Modules, v1beta2.Module{Name: module})
	})
}

// Whatever happens to one cluster, to the access to it or to its Kyma affects no other cluster.
func TestWhatHappensToOneClusterAffectsNoOther(t *testing.T) {
	s := harness.NewMultiClusterEnvironment(t)
	s.SweepOften() // a pass finds that a cluster answers again, and what an owner edits
	s.PushModule(harness.MinimalModule{Name: "common"})
	s.PushModule(harness.MinimalModule{Name: "common", Version: "2.0.0", Channels: "fast, regular=1.0.0"})
	s.PushMinimal("extra")
	s.Push("test/modules/sample/1.0.0")
	s.Instance.Start()
	t.Run("losing the access to one cluster affects no other", func(t *testing.T) { losesAccess(t, s) })
	t.Run("the owners of three clusters ask for different things", func(t *testing.T) { ownersDiffer(t, s) })
	t.Run("the deletion of Kymas touches no other cluster", func(t *testing.T) { deletesKymas(t, s) })
	t.Run("a purge touches no other cluster", func(t *testing.T) { purgesKymas(t, s) })
}

// removeKymas removes Kymas, and waits until our definitions are gone from the clusters, so that the next part of a test
// begins with clean clusters.
func removeKymas(t *testing.T, s *harness.Environment, names ...string) {
	t.Helper()
	for _, name := range names {
		s.RemoveKyma(name)
	}
	for _, remote := range s.Remotes {
		definitionsGo(t, s, remote)
	}
}

// definitionsGo waits until a cluster has none of our definitions.
func definitionsGo(t *testing.T, s *harness.Environment, remote cluster.Cluster) {
	t.Helper()
	s.Eventually("our definitions go with the last Kyma", 3*time.Minute, func(c *assert.CollectT) {
		assert.Empty(c, ourDefinitions(t, remote))
	})
}

// A change or loss of the access to one cluster affects no other cluster.
func losesAccess(t *testing.T, s *harness.Environment) {
	t.Helper()
	rotated, cut, steady := s.At(0), s.At(1), s.At(2)
	old, fresh := rotated.NewAccount(t, "apart-old"), rotated.NewAccount(t, "apart-fresh")
	connection, through := cut.ThroughProxy(t)
	s.GiveAccess("rotated", old.Kubeconfig)
	s.GiveAccess("cut", through)
	steady.Give("steady")
	for _, name := range []string{"rotated", "cut", "steady"} {
		require.NoError(t, s.ControlPlane.Create(t.Context(), harness.NewKyma(name, "common")))
	}
	for _, name := range []string{"rotated", "cut", "steady"} {
		s.BecomesReady(name, "common@1.0.0")
	}

	connection.Set(proxy.Silent)
	s.GiveAccess("rotated", fresh.Kubeconfig)
	old.Revoke()
	for _, there := range []*harness.Environment{rotated, cut, steady} {
		addModule(there, "extra")
	}
	s.BecomesReady("rotated", "common@1.0.0", "extra@1.0.0")
	s.BecomesReady("steady", "common@1.0.0", "extra@1.0.0")
	s.Eventually("only the one that is cut off is unreachable", 2*time.Minute, func(c *assert.CollectT) {
		status := s.Kyma("cut").Status
		if assert.NotNil(c, status.Remote.Reachable) {
			assert.False(c, *status.Remote.Reachable)
		}
		assert.Contains(c, harness.ModulesByName(status.Modules)["common"].Message, "last known state Ready: the cluster cannot be reached since")
	})
	for _, name := range []string{"rotated", "steady"} {
		require.Equal(t, shared.StateReady, s.Kyma(name).Status.State)
		require.True(t, *s.Kyma(name).Status.Remote.Reachable)
	}
	require.Empty(t, s.MinimalUIDs(t, cut.Remote, "extra"))

	connection.Set(proxy.Forward)
	s.BecomesReady("cut", "common@1.0.0", "extra@1.0.0")
	for name, there := range map[string]*harness.Environment{"rotated": rotated, "cut": cut, "steady": steady} {
		require.Equal(t, string(there.RemoteKyma().UID), s.Kyma(name).Status.Remote.UID, "each Kyma has its own cluster")
		there.GiveAccess(name, there.RemoteAccess(t)) // the proxy ends before the next part
	}
	removeKymas(t, s, "rotated", "cut", "steady")
}

// Each owner gets what is asked for in the own cluster, and reads there what became of it.
func ownersDiffer(t *testing.T, s *harness.Environment) {
	t.Helper()
	faster, wider, mistaken := s.At(0), s.At(1), s.At(2)
	owners := map[string]*harness.Environment{"faster": faster, "wider": wider, "mistaken": mistaken}
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
	reads := func(there *harness.Environment, modules map[string]string, state shared.State) {
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
	require.Equal(t, "1.0.0", mistaken.MinimalVersion(harness.RemoteNamespace, "common"), "what runs goes on")

	others := map[string]string{"faster": string(faster.RemoteKyma().UID), "mistaken": string(mistaken.RemoteKyma().UID)}
	deleted := wider.RemoteKyma()
	require.NoError(t, wider.Remote.Delete(t.Context(), deleted))
	s.Eventually("the remote Kyma is back, with the spec of its owner", 2*time.Minute, func(c *assert.CollectT) {
		var back v1beta2.Kyma
		require.NoError(c, wider.Remote.Get(t.Context(), client.ObjectKeyFromObject(deleted), &back))
		assert.NotEqual(c, deleted.UID, back.UID)
		assert.Equal(c, deleted.Spec, back.Spec)
	})
	s.BecomesReady("wider", "common@1.0.0", "extra@1.0.0")
	for name, uid := range others {
		require.Equal(t, uid, string(owners[name].RemoteKyma().UID))
	}
	removeKymas(t, s, "faster", "wider", "mistaken")
}

// Two Kymas are deleted at once, each in another way: nothing of them remains in their clusters, and nothing is
// written to the third.
func deletesKymas(t *testing.T, s *harness.Environment) {
	t.Helper()
	names := []string{"background", "foreground", "staying"}
	for i, name := range names {
		s.At(i).Create(harness.NewKyma(name, "sample"))
	}
	for _, name := range names {
		s.BecomesReady(name, "sample@1.0.0")
	}
	s.BecomesIdle(s.Kyma("staying"))
	before := s.Remotes[2].AtRest(t)

	manifests := map[string][]v1beta2.Manifest{}
	for name, propagation := range map[string]metav1.DeletionPropagation{
		"background": metav1.DeletePropagationBackground, "foreground": metav1.DeletePropagationForeground,
	} {
		kyma := s.Kyma(name)
		manifests[name] = s.Manifests(kyma)
		require.NoError(t, s.ControlPlane.Delete(t.Context(), kyma, client.PropagationPolicy(propagation)))
	}
	for i, name := range names[:2] {
		s.Eventually("Kyma "+name+" is gone", 2*time.Minute, func(c *assert.CollectT) {
			assert.True(c, s.IsGone(keyed(client.ObjectKey{Namespace: harness.ControlPlaneNamespace, Name: name})))
		})
		require.Len(t, manifests[name], 1)
		err := s.ControlPlane.Get(t.Context(), client.ObjectKeyFromObject(&manifests[name][0]), &v1beta2.Manifest{})
		require.True(t, apierrors.IsNotFound(err), err)
		require.Empty(t, s.OfModule(t, s.Remotes[i]))
		definitionsGo(t, s, s.Remotes[i])
	}
	s.Sweeps(t, 1)
	require.Empty(t, cluster.Differences(before, s.Remotes[2].Versions(t)))
	require.NotEmpty(t, ourDefinitions(t, s.Remotes[2]))
	s.BecomesReady("staying", "sample@1.0.0")
	removeKymas(t, s, "staying")
}

// ourDefinitions names the definitions of our own custom resources in a cluster.
func ourDefinitions(t *testing.T, c cluster.Cluster) []string {
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

// A purge ends one deletion that a finalizer blocks and one whose cluster is lost, and writes nothing to a third
// cluster. The lost one can be taken into care again.
func purgesKymas(t *testing.T, s *harness.Environment) {
	t.Helper()
	const grace = 10 * time.Second
	s.Instance.Stop()
	s.Instance.Flags = []string{"--purge-orderly-attempt", "2s", "--purge-grace-period", grace.String()}
	s.Instance.Start()
	blocked, lost, spared := s.At(0), s.At(1), s.At(2)
	connection, through := lost.ThroughProxy(t)
	s.GiveAccess("lost", through)
	require.NoError(t, s.ControlPlane.Create(t.Context(), harness.NewKyma("lost", "sample")))
	blocked.Create(harness.NewKyma("blocked", "sample"))
	spared.Create(harness.NewKyma("spared", "sample"))
	for _, name := range []string{"blocked", "lost", "spared"} {
		s.BecomesReady(name, "sample@1.0.0")
	}
	blocked.AddSampleFinalizer(t, "example.com/nobody")
	connection.Close()
	s.BecomesIdle(s.Kyma("spared"))
	before := spared.Remote.AtRest(t)

	purged := []*v1beta2.Kyma{s.Kyma("blocked"), s.Kyma("lost")}
	for _, kyma := range purged {
		require.NoError(t, s.ControlPlane.Delete(t.Context(), kyma))
	}
	// After restarts and losses of Temporal, the grace period still counts from the deletion.
	s.Instance.Kill()
	s.Namespace, s.Temporal = s.NewTemporalNamespace()
	s.Instance.Start()
	for _, kyma := range purged {
		s.Eventually("Kyma "+kyma.Name+" is gone", grace+3*time.Minute, func(c *assert.CollectT) { assert.True(c, s.IsGone(kyma)) })
	}
	s.Eventually("nothing of the blocked one remains", 3*time.Minute, func(c *assert.CollectT) {
		assert.Empty(c, s.OfModule(t, blocked.Remote))
	})
	s.Warns(purged[0], "Purged", "loses its finalizers example.com/nobody")
	s.Warns(purged[1], "PurgeAbandoned", "left there")
	require.NotEmpty(t, s.OfModule(t, lost.Remote), "what nobody could reach is there")
	require.Empty(t, cluster.Differences(before, spared.Remote.Versions(t)))
	s.BecomesReady("spared", "sample@1.0.0")

	lost.GiveAccess("lost", lost.RemoteAccess(t))
	require.NoError(t, s.ControlPlane.Create(t.Context(), harness.NewKyma("lost", "sample")))
	s.BecomesReady("lost", "sample@1.0.0")
	s.RemoveKyma("lost")
	require.Empty(t, s.OfModule(t, lost.Remote))
}

// Kymas of equal name in different namespaces have each its own cluster, also where one of them has no access.
func TestKymasWithTheSameNameNeverGetEachOthersCluster(t *testing.T) {
	s := harness.NewMultiClusterEnvironment(t, "--namespaces", harness.ControlPlaneNamespace+",twins-one,twins-two,twins-three")
	s.SweepOften()
	modules := []string{"dawn", "noon", "dusk"}
	for _, module := range modules {
		s.PushMinimal(module)
	}
	s.Instance.Start()
	var duplicates []*v1beta2.Kyma
	for i, namespace := range []string{"twins-one", "twins-two", "twins-three"} {
		t.Cleanup(func() { s.RemoveNamespaces(s.ControlPlane, namespace) })
		duplicate := harness.NewKyma("twin", modules[i])
		duplicate.Namespace = namespace
		duplicates = append(duplicates, duplicate)
		require.NoError(t, s.ControlPlane.Create(t.Context(), s.At(i).AccessOf(duplicate)))
		require.NoError(t, s.ControlPlane.Create(t.Context(), duplicate))
	}
	isReady := func(duplicate *v1beta2.Kyma) {
		t.Helper()
		s.Eventually("the Kyma in "+duplicate.Namespace+" becomes Ready", 2*time.Minute, func(c *assert.CollectT) {
			require.NoError(c, s.ControlPlane.Get(t.Context(), client.ObjectKeyFromObject(duplicate), duplicate))
			assert.Equal(c, shared.StateReady, duplicate.Status.State)
			assert.Len(c, duplicate.Status.Modules, 1)
		})
	}
	hasOnlyItsOwn := func() {
		t.Helper()
		for i := range duplicates {
			isReady(duplicates[i])
			for j, module := range modules {
				require.Equal(t, i == j, len(s.MinimalUIDs(t, s.Remotes[i], module)) == 1, "%s in cluster %d", module, i+1)
			}
		}
	}
	hasOnlyItsOwn()

	require.NoError(t, s.ControlPlane.Delete(t.Context(), s.At(1).AccessOf(duplicates[1])))
	s.Eventually("the one without access says so", 2*time.Minute, func(c *assert.CollectT) {
		require.NoError(c, s.ControlPlane.Get(t.Context(), client.ObjectKeyFromObject(duplicates[1]), duplicates[1]))
		assert.Equal(c, "AccessSecretNotFound", duplicates[1].Status.Remote.Reason)
	})
	isReady(duplicates[0])
	isReady(duplicates[2])
	require.NoError(t, s.ControlPlane.Create(t.Context(), s.At(1).AccessOf(duplicates[1])))
	hasOnlyItsOwn()

	for i, duplicate := range duplicates {
		require.NoError(t, s.ControlPlane.Delete(t.Context(), duplicate))
		s.Eventually("the one in "+duplicate.Namespace+" is gone", 2*time.Minute, func(c *assert.CollectT) { assert.True(c, s.IsGone(duplicate)) })
		require.Empty(t, s.OfModule(t, s.Remotes[i]))
		for j := i + 1; j < len(duplicates); j++ {
			isReady(duplicates[j])
			require.Len(t, s.MinimalUIDs(t, s.Remotes[j], modules[j]), 1)
		}
	}
}
