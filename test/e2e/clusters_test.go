package e2e

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// at is the stage with another of its remote clusters in place of the first.
func (s *stage) at(cluster int) *stage {
	there := *s
	there.remote = s.remotes[cluster]
	return &there
}

// add adds a module to the remote Kyma, as the owner of the cluster does.
func (s *stage) add(module string) {
	s.t.Helper()
	s.editRemote(func(k *v1beta2.Kyma) {
		k.Spec.Modules = append(k.Spec.Modules, v1beta2.Module{Name: module})
	})
}

// What befalls the access to one cluster is felt in that one alone.
func TestWhatBefallsTheAccessToOneClusterIsFeltInThatOneAlone(t *testing.T) {
	s := newStage(t)
	s.pushTiny("first")
	s.pushTiny("second")
	s.instance.start()
	rotated, cut, steady := s.at(0), s.at(1), s.at(2)
	old, fresh := rotated.newAccount(t, "apart-old"), rotated.newAccount(t, "apart-fresh")
	way, through := cut.through(t)
	s.giveAccess("rotated", old.kubeconfig)
	s.giveAccess("cut", through)
	steady.give("steady")
	for _, name := range []string{"rotated", "cut", "steady"} {
		require.NoError(t, s.controlPlane.Create(t.Context(), newKyma(name, "first")))
	}
	for _, name := range []string{"rotated", "cut", "steady"} {
		s.becomesReady(name, "first@1.0.0")
	}

	way.set(cableSilent)
	s.giveAccess("rotated", fresh.kubeconfig)
	old.revoke()
	for _, there := range []*stage{rotated, cut, steady} {
		there.add("second")
	}
	s.becomesReady("rotated", "first@1.0.0", "second@1.0.0")
	s.becomesReady("steady", "first@1.0.0", "second@1.0.0")
	s.eventually("only the one that is cut off says so", 2*time.Minute, func(c *assert.CollectT) {
		status := s.kyma("cut").Status
		if assert.NotNil(c, status.Remote.Reachable) {
			assert.False(c, *status.Remote.Reachable)
		}
		assert.Contains(c, byName(status.Modules)["first"].Message, "last known state Ready: the cluster cannot be reached since")
	})
	for _, name := range []string{"rotated", "steady"} {
		require.Equal(t, shared.StateReady, s.kyma(name).Status.State)
		require.True(t, *s.kyma(name).Status.Remote.Reachable)
	}
	require.Empty(t, s.tinies(t, cut.remote, "second"))

	way.set(cablePasses)
	s.becomesReady("cut", "first@1.0.0", "second@1.0.0")
	for name, there := range map[string]*stage{"rotated": rotated, "cut": cut, "steady": steady} {
		require.Equal(t, string(there.remoteKyma().UID), s.kyma(name).Status.Remote.UID, "each Kyma has its own cluster")
		there.giveAccess(name, there.remoteAccess(t)) // accounts and cable end before the stage is cleared
	}
}

// Kymas of equal name in different namespaces have each its own cluster, also where one of them has no access.
func TestKymasOfEqualNameNeverGetEachOthersCluster(t *testing.T) {
	s := newStage(t)
	modules := []string{"dawn", "noon", "dusk"}
	for _, module := range modules {
		s.pushTiny(module)
	}
	s.instance.start()
	var twins []*v1beta2.Kyma
	for i, namespace := range []string{"twins-one", "twins-two", "twins-three"} {
		s.ensureNamespace(s.controlPlane, namespace)
		t.Cleanup(func() { s.removeNamespaces(s.controlPlane, namespace) })
		twin := newKyma("twin", modules[i])
		twin.Namespace = namespace
		twins = append(twins, twin)
		require.NoError(t, s.controlPlane.Create(t.Context(), s.at(i).accessOf(twin)))
		require.NoError(t, s.controlPlane.Create(t.Context(), twin))
	}
	isReady := func(twin *v1beta2.Kyma) {
		t.Helper()
		s.eventually("the Kyma in "+twin.Namespace+" becomes Ready", 2*time.Minute, func(c *assert.CollectT) {
			require.NoError(c, s.controlPlane.Get(t.Context(), client.ObjectKeyFromObject(twin), twin))
			assert.Equal(c, shared.StateReady, twin.Status.State)
			assert.Len(c, twin.Status.Modules, 1)
		})
	}
	hasOnlyItsOwn := func() {
		t.Helper()
		for i := range twins {
			isReady(twins[i])
			for j, module := range modules {
				require.Equal(t, i == j, len(s.tinies(t, s.remotes[i], module)) == 1, "%s in cluster %d", module, i+1)
			}
		}
	}
	hasOnlyItsOwn()

	require.NoError(t, s.controlPlane.Delete(t.Context(), s.at(1).accessOf(twins[1])))
	s.eventually("the one without access says so", 2*time.Minute, func(c *assert.CollectT) {
		require.NoError(c, s.controlPlane.Get(t.Context(), client.ObjectKeyFromObject(twins[1]), twins[1]))
		assert.Equal(c, "AccessSecretNotFound", twins[1].Status.Remote.Reason)
	})
	isReady(twins[0])
	isReady(twins[2])
	require.NoError(t, s.controlPlane.Create(t.Context(), s.at(1).accessOf(twins[1])))
	hasOnlyItsOwn()

	for i, twin := range twins {
		require.NoError(t, s.controlPlane.Delete(t.Context(), twin))
		s.eventually("the one in "+twin.Namespace+" is gone", 2*time.Minute, func(c *assert.CollectT) { assert.True(c, s.isGone(twin)) })
		require.Empty(t, s.ofModule(t, s.remotes[i]))
		for j := i + 1; j < len(twins); j++ {
			isReady(twins[j])
			require.Len(t, s.tinies(t, s.remotes[j], modules[j]), 1)
		}
	}
}

// accessOf is the Secret that gives a Kyma, in its own namespace, access to the remote cluster.
func (s *stage) accessOf(kyma *v1beta2.Kyma) *corev1.Secret {
	s.t.Helper()
	config, err := os.ReadFile(s.remote.access)
	require.NoError(s.t, err)
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: kyma.Name + "-access", Namespace: kyma.Namespace, Labels: map[string]string{shared.LabelKymaName: kyma.Name},
		},
		Data: map[string][]byte{"config": config},
	}
}

// Each owner gets what is asked for in the own cluster, and reads there what became of it.
func TestTheOwnersOfThreeClustersAskForDifferentThings(t *testing.T) {
	s := newStage(t)
	s.pushOne(tiny{name: "common"})
	s.pushOne(tiny{name: "common", version: "2.0.0", channels: "fast, regular=1.0.0"})
	s.pushTiny("extra")
	s.instance.start()
	faster, wider, mistaken := s.at(0), s.at(1), s.at(2)
	owners := map[string]*stage{"faster": faster, "wider": wider, "mistaken": mistaken}
	for name, there := range owners {
		there.create(newKyma(name, "common"))
	}
	for name := range owners {
		s.becomesReady(name, "common@1.0.0")
	}

	faster.editRemote(func(k *v1beta2.Kyma) { k.Spec.Channel = "fast" })
	wider.add("extra")
	mistaken.editRemote(func(k *v1beta2.Kyma) { k.Spec.Channel = "nowhere" })
	s.becomesReady("faster", "common@2.0.0")
	s.becomesReady("wider", "common@1.0.0", "extra@1.0.0")
	reads := func(there *stage, modules map[string]string, state shared.State) {
		t.Helper()
		s.eventually("the owner reads the status", 2*time.Minute, func(c *assert.CollectT) {
			remote := there.remoteKyma()
			assert.Equal(c, state, remote.Status.State)
			have := map[string]string{}
			for name, module := range byName(remote.Status.Modules) {
				have[name] = module.Version
			}
			assert.Equal(c, modules, have)
		})
	}
	reads(faster, map[string]string{"common": "2.0.0"}, shared.StateReady)
	reads(wider, map[string]string{"common": "1.0.0", "extra": "1.0.0"}, shared.StateReady)
	s.eventually("the mistake is said where it was made", 2*time.Minute, func(c *assert.CollectT) {
		module := byName(mistaken.remoteKyma().Status.Modules)["common"]
		assert.Contains(c, module.Message, "nowhere")
		assert.Contains(c, module.Hint, "regular")
	})
	require.Equal(t, "1.0.0", mistaken.tinyVersion(remoteNamespace, "common"), "what runs goes on")

	others := map[string]string{"faster": string(faster.remoteKyma().UID), "mistaken": string(mistaken.remoteKyma().UID)}
	deleted := wider.remoteKyma()
	require.NoError(t, wider.remote.Delete(t.Context(), deleted))
	s.eventually("the remote Kyma is back, as its owner left it", 2*time.Minute, func(c *assert.CollectT) {
		var back v1beta2.Kyma
		require.NoError(c, wider.remote.Get(t.Context(), client.ObjectKeyFromObject(deleted), &back))
		assert.NotEqual(c, deleted.UID, back.UID)
		assert.Equal(c, deleted.Spec, back.Spec)
	})
	s.becomesReady("wider", "common@1.0.0", "extra@1.0.0")
	for name, uid := range others {
		require.Equal(t, uid, string(owners[name].remoteKyma().UID))
	}
}

// Two Kymas are deleted at once, each in another way: nothing of them is left in their clusters, and nothing is
// written to the third.
func TestTheDeletionOfKymasTouchesNoOtherCluster(t *testing.T) {
	s := newStage(t)
	s.push("test/modules/sample/1.0.0")
	s.instance.start()
	names := []string{"background", "foreground", "staying"}
	for i, name := range names {
		s.at(i).create(newKyma(name, "sample"))
	}
	for _, name := range names {
		s.becomesReady(name, "sample@1.0.0")
	}
	s.becomesIdle(s.kyma("staying"))
	before := s.atRest(t, s.remotes[2])

	for name, propagation := range map[string]metav1.DeletionPropagation{
		"background": metav1.DeletePropagationBackground, "foreground": metav1.DeletePropagationForeground,
	} {
		require.NoError(t, s.controlPlane.Delete(t.Context(), s.kyma(name), client.PropagationPolicy(propagation)))
	}
	for i, name := range names[:2] {
		s.eventually("Kyma "+name+" is gone", 2*time.Minute, func(c *assert.CollectT) {
			assert.True(c, s.isGone(keyed(client.ObjectKey{Namespace: controlPlaneNamespace, Name: name})))
		})
		require.Empty(t, s.ofModule(t, s.remotes[i]))
		s.eventually("our definitions go with the last Kyma", 3*time.Minute, func(c *assert.CollectT) {
			assert.Empty(c, ourDefinitions(t, s.remotes[i]))
		})
	}
	s.sweeps(t, 1)
	require.Empty(t, differences(before, s.versions(t, s.remotes[2])))
	require.NotEmpty(t, ourDefinitions(t, s.remotes[2]))
	s.becomesReady("staying", "sample@1.0.0")
}

// ourDefinitions names the definitions of our own custom resources in a cluster.
func ourDefinitions(t *testing.T, c cluster) []string {
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
	s := newStage(t, "--purge-orderly-attempt", "2s", "--purge-grace-period", grace.String())
	s.push("test/modules/sample/1.0.0")
	s.instance.start()
	held, lost, steady := s.at(0), s.at(1), s.at(2)
	way, through := lost.through(t)
	s.giveAccess("lost", through)
	require.NoError(t, s.controlPlane.Create(t.Context(), newKyma("lost", "sample")))
	held.create(newKyma("held", "sample"))
	steady.create(newKyma("steady", "sample"))
	for _, name := range []string{"held", "lost", "steady"} {
		s.becomesReady(name, "sample@1.0.0")
	}
	held.holdSample(t, "example.com/nobody")
	way.unplug()
	s.becomesIdle(s.kyma("steady"))
	before := s.atRest(t, steady.remote)

	purged := []*v1beta2.Kyma{s.kyma("held"), s.kyma("lost")}
	for _, kyma := range purged {
		require.NoError(t, s.controlPlane.Delete(t.Context(), kyma))
	}
	// Whoever restarts it, and whatever Temporal has lost, the grace is that from the moment of the deletion.
	s.instance.kill()
	s.namespace, s.temporal = s.newTemporalNamespace()
	s.instance.start()
	for _, kyma := range purged {
		s.eventually("Kyma "+kyma.Name+" is gone", grace+3*time.Minute, func(c *assert.CollectT) { assert.True(c, s.isGone(kyma)) })
	}
	s.eventually("nothing of the held one is left", 3*time.Minute, func(c *assert.CollectT) {
		assert.Empty(c, s.ofModule(t, held.remote))
	})
	s.warns(purged[0], "Purged", "loses its finalizers example.com/nobody")
	s.warns(purged[1], "PurgeLetGo", "left there")
	require.NotEmpty(t, s.ofModule(t, lost.remote), "what nobody could reach is there")
	require.Empty(t, differences(before, s.versions(t, steady.remote)))
	s.becomesReady("steady", "sample@1.0.0")

	lost.giveAccess("lost", lost.remoteAccess(t))
	require.NoError(t, s.controlPlane.Create(t.Context(), newKyma("lost", "sample")))
	s.becomesReady("lost", "sample@1.0.0")
	s.removeKyma("lost")
	require.Empty(t, s.ofModule(t, lost.remote))
}
