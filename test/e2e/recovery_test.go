package e2e

import (
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	temporal "go.temporal.io/sdk/client"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// A process killed in the middle of an installation, an upgrade and a removal, and started again each time, must come to
// the same end as one that was left alone, and must not have applied anything that is not wanted. A gate holds the write
// that it is killed at, which never arrives. With CRASHPOINTS=all (make crashpoints) it is killed at more of them.
func TestAProcessKilledInMidWorkComesToTheSameEnd(t *testing.T) {
	s := newStage(t)
	s.push("test/modules/sample/1.0.0")
	s.push("test/modules/sample/1.1.0")
	s.instance.start()
	g, through := s.gated(t)
	s.giveAccess("killed", through)
	install := func() { require.NoError(t, s.controlPlane.Create(t.Context(), newKyma("killed", "sample"))) }
	upgrade := func() {
		s.editRemote(func(k *v1beta2.Kyma) { k.Spec.Channel = "fast" })
	}
	install()
	s.becomesReady("killed", "sample@1.0.0")
	installed := shapes(s.all(t, s.remote))
	upgrade()
	s.becomesReady("killed", "sample@1.1.0")
	upgraded := shapes(s.all(t, s.remote))
	require.NotEqual(t, installed, upgraded)
	killedAt := func(path, method string, begin func()) {
		g.hold(path, method)
		begin()
		g.await()
		s.instance.kill()
		g.drop()
		s.instance.start()
	}
	remove := func(t *testing.T, path string) {
		kyma := s.kyma("killed")
		killedAt(path, http.MethodDelete, func() { require.NoError(t, s.controlPlane.Delete(t.Context(), kyma)) })
		s.eventually("the Kyma is gone", 2*time.Minute, func(c *assert.CollectT) { assert.True(c, s.isGone(kyma)) })
		require.Empty(t, s.ofModule(t, s.remote))
	}
	t.Run("killed at the removal of its default custom resource", func(t *testing.T) { remove(t, "/samples/") })

	// What is written at an installation and an upgrade alike, and at a removal.
	moments := []struct{ applied, removed string }{{applied: "/deployments/", removed: "/deployments/"}}
	if os.Getenv("CRASHPOINTS") == "all" {
		moments = append(moments, struct{ applied, removed string }{applied: "/configmaps/", removed: "/customresourcedefinitions/"})
	}
	for _, at := range moments {
		t.Run("killed at "+at.applied+" and "+at.removed, func(t *testing.T) {
			killedAt(at.applied, http.MethodPatch, install)
			s.becomesReady("killed", "sample@1.0.0")
			require.Equal(t, installed, shapes(s.all(t, s.remote)))
			killedAt(at.applied, http.MethodPatch, upgrade)
			s.becomesReady("killed", "sample@1.1.0")
			require.Equal(t, upgraded, shapes(s.all(t, s.remote)))
			remove(t, at.removed)
		})
	}
	s.giveAccess("killed", s.remoteAccess(t)) // the gate ends before the stage is cleared
}

// shapes are the objects of modules in a cluster without what differs from one installation to the next.
func shapes(objects []unstructured.Unstructured) map[string]string {
	found := map[string]string{}
	for _, obj := range objects {
		if isInstalled(&obj) {
			found[obj.GetKind()+" "+obj.GetNamespace()+"/"+obj.GetName()] = obj.GetAnnotations()[shared.AnnotationAppliedDigest]
		}
	}
	return found
}

// removeKyma deletes a Kyma and waits until it is gone; its access Secret stays.
func (s *stage) removeKyma(name string) {
	s.t.Helper()
	kyma := s.kyma(name)
	require.NoError(s.t, s.controlPlane.Delete(ctx(s.t), kyma))
	s.eventually("Kyma "+name+" is gone", 2*time.Minute, func(c *assert.CollectT) {
		assert.True(c, s.isGone(kyma))
	})
}

// Temporal's database is progress, not truth: without it, a settled fleet stays as it is, and nobody writes to
// any remote cluster.
func TestALostTemporalDatabaseHarmsNothing(t *testing.T) {
	s := newStage(t)
	s.push("test/modules/sample/1.0.0")
	s.instance.start()
	s.create(newKyma("settled", "sample"))
	s.becomesReady("settled", "sample@1.0.0")
	kyma := s.kyma("settled")
	s.becomesIdle(kyma)
	s.instance.stop()
	before := s.atRest(t, s.remote)

	// A namespace that never saw this fleet is a lost database, as far as the process can tell.
	s.namespace, s.temporal = s.newTemporalNamespace()
	s.instance.start()
	s.eventually("the Kyma's workflow runs again", time.Minute, func(c *assert.CollectT) {
		assert.Equal(c, "Running", s.workflowsOf(kyma)[kick.KymaWorkflow])
	})
	s.sweeps(t, 2) // two whole passes of the sweep look at everything
	require.Empty(t, differences(before, s.versions(t, s.remote)))

	t.Run("and a change is acted on as before", func(t *testing.T) {
		s.push("test/modules/sample/1.1.0")
		s.editRemote(func(k *v1beta2.Kyma) {
			k.Spec.Channel = "fast"
		})
		s.becomesReady("settled", "sample@1.1.0")
	})
}

// The real thing: the server is stopped, its database removed, and it starts empty.
func TestTemporalsServerLosesItsDatabase(t *testing.T) {
	s := newStage(t)
	s.namespace, s.temporal = "default", nil
	s.push("test/modules/sample/1.0.0")
	s.instance.start()
	s.create(newKyma("settled", "sample"))
	s.becomesReady("settled", "sample@1.0.0")
	s.instance.stop()
	before := s.atRest(t, s.remote)

	s.fleet("reset", "temporal")
	var err error
	s.temporal, err = temporal.Dial(temporal.Options{HostPort: s.venue.Temporal.Address, Namespace: s.namespace})
	require.NoError(t, err)
	t.Cleanup(s.temporal.Close)
	s.beat(s.temporal)
	s.instance.start()
	s.sweeps(t, 2)
	require.Empty(t, differences(before, s.versions(t, s.remote)))
	require.Equal(t, shared.StateReady, s.kyma("settled").Status.State)

	t.Run("and loses it again while everything runs", func(t *testing.T) {
		s.pushTiny("later")
		before := s.atRest(t, s.remote)
		s.fleet("reset", "temporal")
		lost := time.Now()
		s.create(newSynced("after-the-loss", "later"))
		s.becomesReady("after-the-loss", "later@1.0.0")
		require.Less(t, time.Since(lost), time.Minute, "it heals by itself")
		s.eventually("the process is ready", time.Minute, func(c *assert.CollectT) { assert.True(c, isReady(s.instance.probe)) })
		s.removeKyma("after-the-loss")
		s.removeNamespaces(s.remote, "after-the-loss") // which stays with its Kyma's owner
		s.sweeps(t, 2)
		require.Empty(t, differences(before, s.versions(t, s.remote)))
		require.Equal(t, shared.StateReady, s.kyma("settled").Status.State)
	})
}
