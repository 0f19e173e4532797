package e2e

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/cluster"
	"github.com/kyma-project/lifecycle-manager/test/harness/fleets"
	"github.com/kyma-project/lifecycle-manager/test/harness/proxy"
)

// Lifecycle Manager waits for a cluster that it cannot reach, and continues when the cluster and the access to it are back.
func TestWorkContinuesWhenAClusterAndTheAccessToItAreBack(t *testing.T) {
	fleets.Idles(t)
	s := harness.NewEnvironment(t)
	s.SweepOften() // passes find that a cluster answers again
	s.Push("test/modules/sample/1.0.0")
	s.PushMinimal("early")
	s.PushMinimal("later")
	s.Instance.Start()

	t.Run("credentials are rotated, and the old ones revoked", func(t *testing.T) { credentialsAreRotated(t, s) })
	t.Run("the access Secret is deleted during an installation, and during a deletion", func(t *testing.T) { accessSecretIsDeleted(t, s) })

	b, through := s.ThroughBlocker(t)
	s.GiveAccess("cut", through)
	require.NoError(t, s.ControlPlane.Create(t.Context(), harness.NewKyma("cut", "early")))
	s.BecomesReady("cut", "early@1.0.0")
	for name, mode := range map[string]proxy.Mode{"cut off": proxy.Cut, "silent": proxy.Silent} {
		t.Run("a cluster is "+name+" in the middle of an installation", func(t *testing.T) { clusterIsLost(t, s, b, mode) })
	}
	t.Run("a remote API server is killed during an installation, and when all is ready", func(t *testing.T) { remoteServerIsKilled(t, s, b) })
	s.GiveAccess("cut", s.RemoteAccess(t)) // the proxy ends before the environment is cleaned up
}

// New credentials are used at once, and the old ones never again.
func credentialsAreRotated(t *testing.T, s *harness.Environment) {
	old, fresh := s.NewAccount(t, "rotated-out"), s.NewAccount(t, "rotated-in")
	s.GiveAccess("rotated", old.Kubeconfig)
	require.NoError(t, s.ControlPlane.Create(t.Context(), harness.NewKyma("rotated", "early")))
	s.BecomesReady("rotated", "early@1.0.0")

	s.GiveAccess("rotated", fresh.Kubeconfig)
	old.Revoke()
	s.EditRemote(func(k *v1beta2.Kyma) { k.Spec.Modules = append(k.Spec.Modules, v1beta2.Module{Name: "later"}) })
	s.BecomesReady("rotated", "early@1.0.0", "later@1.0.0")

	t.Run("revoked ones are reported, until there are others", func(t *testing.T) {
		next := s.NewAccount(t, "rotated-next")
		fresh.Revoke()
		s.Eventually("the Kyma has the reason", 2*time.Minute, func(c *assert.CollectT) {
			assert.Equal(c, "UnreachableUnauthorized", s.Kyma("rotated").Status.Remote.Reason)
		})
		s.GiveAccess("rotated", next.Kubeconfig)
		s.BecomesReady("rotated", "early@1.0.0", "later@1.0.0")
	})
	s.RemoveKyma("rotated")
}

// Without its Secret an installation stops, and a deletion waits; with it they continue.
func accessSecretIsDeleted(t *testing.T, s *harness.Environment) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "lost-access", Namespace: harness.ControlPlaneNamespace}}
	kyma := harness.NewKyma("lost", "sample")
	b, through := s.ThroughBlocker(t)
	s.GiveAccess("lost", through)
	b.Block("/deployments/sample-operator", http.MethodPatch)
	require.NoError(t, s.ControlPlane.Create(t.Context(), kyma))
	b.Await()
	require.NoError(t, s.ControlPlane.Delete(t.Context(), secret))
	b.Release()
	s.SaysError("lost", "access secret not found")
	require.Equal(t, "AccessSecretNotFound", s.Kyma("lost").Status.Remote.Reason)
	s.Give("lost")
	s.BecomesReady("lost", "sample@1.0.0")

	require.NoError(t, s.ControlPlane.Delete(t.Context(), s.Kyma("lost")))
	require.NoError(t, s.ControlPlane.Delete(t.Context(), secret))
	s.Sweeps(t, 2)
	s.Give("lost")
	s.Eventually("the Kyma is gone", 2*time.Minute, func(c *assert.CollectT) { assert.True(c, s.IsGone(kyma)) })
	require.Empty(t, s.OfModule(t, s.Remote))
}

// A cluster that is cut off in the middle of an installation, or silent, blocks nothing for good: Lifecycle Manager applies the
// missing objects when the cluster is back. Meanwhile the status shows the last known states.
func clusterIsLost(t *testing.T, s *harness.Environment, b *proxy.Blocker, mode proxy.Mode) {
	b.Block("/deployments/sample-operator", http.MethodPatch)
	s.EditRemote(func(k *v1beta2.Kyma) { k.Spec.Modules = append(k.Spec.Modules, v1beta2.Module{Name: "sample"}) })
	b.Await()
	b.Set(mode)
	b.Drop()
	operator := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: harness.RemoteNamespace, Name: "sample-operator"}}
	err := s.Remote.Get(t.Context(), client.ObjectKeyFromObject(operator), operator)
	require.True(t, apierrors.IsNotFound(err), "the Deployment is there: %v", err)
	s.Eventually("the Kyma has the time since when", 2*time.Minute, func(c *assert.CollectT) {
		status := s.Kyma("cut").Status
		if assert.NotNil(c, status.Remote.Reachable) {
			assert.False(c, *status.Remote.Reachable)
		}
		early := harness.ModulesByName(status.Modules)["early"]
		assert.Equal(c, shared.StateError, early.State)
		assert.Contains(c, early.Message, "last known state Ready: the cluster cannot be reached since")
	})
	b.Set(proxy.Forward)
	s.BecomesReady("cut", "early@1.0.0", "sample@1.0.0")
	s.Eventually("nothing is stale any more", 2*time.Minute, func(c *assert.CollectT) {
		assert.Empty(c, harness.ModulesByName(s.Kyma("cut").Status.Modules)["early"].Message)
	})
	s.EditRemote(func(k *v1beta2.Kyma) { k.Spec.Modules = k.Spec.Modules[:1] })
	s.BecomesReady("cut", "early@1.0.0")
}

// Lifecycle Manager waits for a remote API server that crashed: the status shows the last known states, and the missing objects
// are installed when the server is back.
func remoteServerIsKilled(t *testing.T, s *harness.Environment, b *proxy.Blocker) {
	const server = "remote-1/kube-apiserver"
	down := false
	crash := func() {
		down = true
		s.RunFleet("stop", "--kill", server)
	}
	restart := func() {
		s.RunFleet("start", server)
		// It reconnects by itself, but only after up to a minute.
		s.RunFleet("stop", "remote-1/kube-controller-manager")
		s.RunFleet("start", "remote-1/kube-controller-manager")
		down = false
	}
	// Whatever happens, the environment is cleaned up, and the next test begins, with a cluster that works.
	t.Cleanup(func() {
		if down {
			restart()
		}
		require.NoError(t, s.Remote.List(context.Background(), &corev1.NamespaceList{}))
	})

	b.Block("/deployments/sample-operator", http.MethodPatch)
	s.EditRemote(func(k *v1beta2.Kyma) { k.Spec.Modules = append(k.Spec.Modules, v1beta2.Module{Name: "sample"}) })
	b.Await()
	crash()
	b.Drop()
	becomesStale(s, "early")
	restart()
	s.BecomesReady("cut", "early@1.0.0", "sample@1.0.0")
	s.Eventually("the Manifests have their states back", 2*time.Minute, func(c *assert.CollectT) {
		for _, manifest := range s.Manifests(s.Kyma("cut")) {
			assert.Equal(c, shared.StateReady, manifest.Status.State, manifest.Name)
			assert.Empty(c, manifest.Status.LastKnownState, manifest.Name)
		}
	})
	before := cluster.Shapes(s.Remote.All(t))

	crash()
	becomesStale(s, "early", "sample")
	restart()
	s.BecomesReady("cut", "early@1.0.0", "sample@1.0.0")
	s.Eventually("nothing is stale any more", 2*time.Minute, func(c *assert.CollectT) {
		for name, module := range harness.ModulesByName(s.Kyma("cut").Status.Modules) {
			assert.Empty(c, module.Message, name)
		}
	})
	require.Equal(t, before, cluster.Shapes(s.Remote.All(t)))
}

// becomesStale waits until the Kyma shows the last known state of these modules, and since when it cannot reach the cluster.
func becomesStale(s *harness.Environment, modules ...string) {
	s.T.Helper()
	s.Eventually("the Kyma has the time since when", 2*time.Minute, func(c *assert.CollectT) {
		status := s.Kyma("cut").Status
		assert.Equal(c, shared.StateError, status.State)
		assert.Equal(c, "UnreachableNetwork", status.Remote.Reason)
		for _, name := range modules {
			module := harness.ModulesByName(status.Modules)[name]
			assert.Equal(c, shared.StateError, module.State, name)
			assert.Contains(c, module.Message, "last known state Ready: the cluster cannot be reached since", name)
		}
		for _, manifest := range s.Manifests(s.Kyma("cut")) {
			if manifest.ModuleName() == "early" {
				assert.Equal(c, shared.StateError, manifest.Status.State, "the sweep turns the Manifest")
				assert.Contains(c, manifest.Status.LastOperation.Operation, "last known state Ready: the cluster cannot be reached since")
			}
		}
	})
}
