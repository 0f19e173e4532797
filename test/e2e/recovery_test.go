package e2e

import (
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	temporal "go.temporal.io/sdk/client"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/cluster"
	"github.com/kyma-project/lifecycle-manager/test/harness/process"
)

// A process killed in the middle of an installation, an upgrade and a removal, and started again each time, must have
// the same result as one that was not, and must not have applied anything that is not wanted. A blocker blocks the write
// at which it is killed, which never arrives. With CRASHPOINTS=all (make crashpoints) it is killed at more of them.
func TestAProcessKilledDuringItsWorkHasTheSameResult(t *testing.T) {
	s := harness.NewEnvironment(t)
	s.Push("test/modules/sample/1.0.0")
	s.Push("test/modules/sample/1.1.0")
	s.Instance.Start()
	b, through := s.ThroughBlocker(t)
	s.GiveAccess("killed", through)
	install := func() { require.NoError(t, s.ControlPlane.Create(t.Context(), harness.NewKyma("killed", "sample"))) }
	upgrade := func() {
		s.EditRemote(func(k *v1beta2.Kyma) { k.Spec.Channel = "fast" })
	}
	install()
	s.BecomesReady("killed", "sample@1.0.0")
	installed := cluster.Shapes(s.Remote.All(t))
	upgrade()
	s.BecomesReady("killed", "sample@1.1.0")
	upgraded := cluster.Shapes(s.Remote.All(t))
	require.NotEqual(t, installed, upgraded)
	killedAt := func(path, method string, begin func()) {
		b.Block(path, method)
		begin()
		b.Await()
		s.Instance.Kill()
		b.Drop()
		s.Instance.Start()
	}
	remove := func(t *testing.T, path string) {
		kyma := s.Kyma("killed")
		killedAt(path, http.MethodDelete, func() { require.NoError(t, s.ControlPlane.Delete(t.Context(), kyma)) })
		s.Eventually("the Kyma is gone", 2*time.Minute, func(c *assert.CollectT) { assert.True(c, s.IsGone(kyma)) })
		require.Empty(t, s.OfModule(t, s.Remote))
	}
	t.Run("killed at the removal of its default custom resource", func(t *testing.T) { remove(t, "/samples/") })

	// What is written at an installation and an upgrade alike, and at a removal.
	points := []struct{ applied, removed string }{{applied: "/deployments/", removed: "/deployments/"}}
	if os.Getenv("CRASHPOINTS") == "all" {
		points = append(points, struct{ applied, removed string }{applied: "/configmaps/", removed: "/customresourcedefinitions/"})
	}
	for _, at := range points {
		t.Run("killed at "+at.applied+" and "+at.removed, func(t *testing.T) {
			killedAt(at.applied, http.MethodPatch, install)
			s.BecomesReady("killed", "sample@1.0.0")
			require.Equal(t, installed, cluster.Shapes(s.Remote.All(t)))
			killedAt(at.applied, http.MethodPatch, upgrade)
			s.BecomesReady("killed", "sample@1.1.0")
			require.Equal(t, upgraded, cluster.Shapes(s.Remote.All(t)))
			remove(t, at.removed)
		})
	}
	s.GiveAccess("killed", s.RemoteAccess(t)) // the blocker ends before the environment is cleaned up
}

// Temporal's database has progress, not state: without it, a settled fleet stays unchanged, and nothing is written to any
// remote cluster.
func TestALostTemporalDatabaseChangesNothing(t *testing.T) {
	s := harness.NewEnvironment(t)
	s.SweepOften()
	s.Push("test/modules/sample/1.0.0")
	s.Instance.Start()
	s.Create(harness.NewKyma("settled", "sample"))
	s.BecomesReady("settled", "sample@1.0.0")
	kyma := s.Kyma("settled")
	s.BecomesIdle(kyma)
	s.Instance.Stop()
	before := s.Remote.AtRest(t)

	// A namespace that never saw this fleet is a lost database for the process.
	s.Namespace, s.Temporal = s.NewTemporalNamespace()
	s.Instance.Start()
	s.Eventually("the Kyma's workflow runs again", time.Minute, func(c *assert.CollectT) {
		assert.Equal(c, "Running", s.WorkflowOf(kyma))
	})
	s.Sweeps(t, 2) // two whole passes of the sweep check everything
	require.Empty(t, cluster.Differences(before, s.Remote.Versions(t)))

	t.Run("and a change is acted on as before", func(t *testing.T) {
		s.Push("test/modules/sample/1.1.0")
		s.EditRemote(func(k *v1beta2.Kyma) {
			k.Spec.Channel = "fast"
		})
		s.BecomesReady("settled", "sample@1.1.0")
	})
}

// The real thing: the server is stopped, its database removed, and it starts empty.
func TestTemporalsServerLosesItsDatabase(t *testing.T) {
	s := harness.NewEnvironment(t)
	s.SweepOften()
	s.Namespace, s.Temporal = "default", nil
	s.Push("test/modules/sample/1.0.0")
	s.Instance.Start()
	s.Create(harness.NewKyma("settled", "sample"))
	s.BecomesReady("settled", "sample@1.0.0")
	s.Instance.Stop()
	before := s.Remote.AtRest(t)

	s.RunFleet("reset", "temporal")
	var err error
	s.Temporal, err = temporal.Dial(temporal.Options{HostPort: s.Fleet.Temporal.Address, Namespace: s.Namespace})
	require.NoError(t, err)
	t.Cleanup(s.Temporal.Close)
	s.TriggerSweeps(s.Temporal)
	s.Instance.Start()
	s.Sweeps(t, 2)
	require.Empty(t, cluster.Differences(before, s.Remote.Versions(t)))
	require.Equal(t, shared.StateReady, s.Kyma("settled").Status.State)

	t.Run("and loses it again while everything runs", func(t *testing.T) {
		s.PushMinimal("later")
		s.Eventually("the catalog in the remote cluster has it", time.Minute, func(c *assert.CollectT) {
			meta := &v1beta2.ModuleReleaseMeta{}
			assert.NoError(c, s.Remote.Get(t.Context(), client.ObjectKey{Namespace: harness.RemoteNamespace, Name: "later"}, meta))
		})
		before := s.Remote.AtRest(t)
		s.RunFleet("reset", "temporal")
		lost := time.Now()
		s.Create(harness.NewSynced("after-the-loss", "later"))
		s.BecomesReady("after-the-loss", "later@1.0.0")
		require.Less(t, time.Since(lost), time.Minute, "it heals by itself")
		s.Eventually("the process is ready", time.Minute, func(c *assert.CollectT) { assert.True(c, process.IsReady(s.Instance.Probe)) })
		s.RemoveKyma("after-the-loss")
		s.RemoveNamespaces(s.Remote, "after-the-loss") // which stays with its Kyma's owner
		s.Sweeps(t, 2)
		require.Empty(t, cluster.Differences(before, s.Remote.Versions(t)))
		require.Equal(t, shared.StateReady, s.Kyma("settled").Status.State)
	})
}
