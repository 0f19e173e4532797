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
)

// A cluster that is cut off in the middle of an installation, or falls silent, holds nothing up for good: what is
// missing is applied when it is back. Meanwhile what was ready is said to have been.
func TestAClusterThatIsCutOffInMidApplyIsInstalledWhenItIsBack(t *testing.T) {
	s := harness.NewStage(t)
	s.Push("test/modules/sample/1.0.0")
	s.PushTiny("early")
	s.Instance.Start()
	g, through := s.Gated(t)
	s.GiveAccess("cut", through)
	require.NoError(t, s.ControlPlane.Create(t.Context(), harness.NewKyma("cut", "early")))
	s.BecomesReady("cut", "early@1.0.0")

	for name, mode := range map[string]harness.CableMode{"cut": harness.CableCut, "silent": harness.CableSilent} {
		t.Run(name, func(t *testing.T) {
			g.Hold("/deployments/sample-operator", http.MethodPatch)
			s.EditRemote(func(k *v1beta2.Kyma) { k.Spec.Modules = append(k.Spec.Modules, v1beta2.Module{Name: "sample"}) })
			g.Await()
			g.Set(mode)
			g.Drop()
			isNotThere(s, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: harness.RemoteNamespace, Name: "sample-operator"}})
			s.Eventually("the Kyma says since when", 2*time.Minute, func(c *assert.CollectT) {
				status := s.Kyma("cut").Status
				if assert.NotNil(c, status.Remote.Reachable) {
					assert.False(c, *status.Remote.Reachable)
				}
				early := harness.ModulesByName(status.Modules)["early"]
				assert.Equal(c, shared.StateReady, early.State)
				assert.Contains(c, early.Message, "last known state Ready: the cluster cannot be reached since")
			})
			g.Set(harness.CablePasses)
			s.BecomesReady("cut", "early@1.0.0", "sample@1.0.0")
			s.Eventually("nothing is stale any more", 2*time.Minute, func(c *assert.CollectT) {
				assert.Empty(c, harness.ModulesByName(s.Kyma("cut").Status.Modules)["early"].Message)
			})
			s.EditRemote(func(k *v1beta2.Kyma) { k.Spec.Modules = k.Spec.Modules[:1] })
			s.BecomesReady("cut", "early@1.0.0")
		})
	}
	s.GiveAccess("cut", s.RemoteAccess(t)) // the cable ends before the stage is cleared
}

// isNotThere requires that an object is not in the remote cluster.
func isNotThere(s *harness.Stage, object client.Object) {
	s.T.Helper()
	err := s.Remote.Get(s.T.Context(), client.ObjectKeyFromObject(object), object)
	require.True(s.T, apierrors.IsNotFound(err), "%T %s is there: %v", object, object.GetName(), err)
}

// New credentials are taken at once, and the old ones never again.
func TestCredentialsAreRotatedAndTheOldOnesRevoked(t *testing.T) {
	s := harness.NewStage(t)
	s.PushTiny("first")
	s.PushTiny("second")
	s.Instance.Start()
	old, fresh := s.NewAccount(t, "rotated-out"), s.NewAccount(t, "rotated-in")
	s.GiveAccess("rotated", old.Kubeconfig)
	require.NoError(t, s.ControlPlane.Create(t.Context(), harness.NewKyma("rotated", "first")))
	s.BecomesReady("rotated", "first@1.0.0")

	s.GiveAccess("rotated", fresh.Kubeconfig)
	old.Revoke()
	s.EditRemote(func(k *v1beta2.Kyma) { k.Spec.Modules = append(k.Spec.Modules, v1beta2.Module{Name: "second"}) })
	s.BecomesReady("rotated", "first@1.0.0", "second@1.0.0")

	t.Run("revoked ones are said so, until there are others", func(t *testing.T) {
		next := s.NewAccount(t, "rotated-next")
		fresh.Revoke()
		s.Eventually("the Kyma says so", 2*time.Minute, func(c *assert.CollectT) {
			assert.Equal(c, "UnreachableUnauthorized", s.Kyma("rotated").Status.Remote.Reason)
		})
		s.GiveAccess("rotated", next.Kubeconfig)
		s.BecomesReady("rotated", "first@1.0.0", "second@1.0.0")
	})
	s.GiveAccess("rotated", s.RemoteAccess(t)) // the accounts end before the stage is cleared
}

// Without its Secret an installation stops, and a deletion waits; with it they go on.
func TestTheAccessSecretIsDeletedDuringAnInstallationAndDuringADeletion(t *testing.T) {
	s := harness.NewStage(t)
	s.Push("test/modules/sample/1.0.0")
	s.Instance.Start()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "lost-access", Namespace: harness.ControlPlaneNamespace}}
	kyma := harness.NewKyma("lost", "sample")
	g, through := s.Gated(t)
	s.GiveAccess("lost", through)
	g.Hold("/deployments/sample-operator", http.MethodPatch)
	require.NoError(t, s.ControlPlane.Create(t.Context(), kyma))
	g.Await()
	require.NoError(t, s.ControlPlane.Delete(t.Context(), secret))
	g.Let()
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

// A remote API server that crashes is waited for: what was ready is said to have been, and what is missing is
// installed when the server is back.
func TestARemoteAPIServerIsKilledDuringAnInstallationAndWhenAllIsReady(t *testing.T) {
	s := harness.NewStage(t)
	s.Push("test/modules/sample/1.0.0")
	s.PushTiny("early")
	s.Instance.Start()
	const server = "remote-1/kube-apiserver"
	down := false
	crash := func() {
		down = true
		s.RunFleet("stop", "--kill", server)
	}
	comeBack := func() {
		s.RunFleet("start", server)
		// These come back by themselves, but take up to a minute to notice.
		for _, program := range []string{"kube-controller-manager", "kube-scheduler", "kwok"} {
			s.RunFleet("stop", "remote-1/"+program)
			s.RunFleet("start", "remote-1/"+program)
		}
		down = false
	}
	// Whatever happens, the stage is cleared, and the next test begins, with a cluster that works.
	t.Cleanup(func() {
		if down {
			comeBack()
		}
		require.NoError(t, s.Remote.List(context.Background(), &corev1.NamespaceList{}))
	})
	g, through := s.Gated(t)
	s.GiveAccess("crashed", through)
	require.NoError(t, s.ControlPlane.Create(t.Context(), harness.NewKyma("crashed", "early")))
	s.BecomesReady("crashed", "early@1.0.0")
	becomesStale := func(modules ...string) {
		t.Helper()
		s.Eventually("the Kyma says since when", 2*time.Minute, func(c *assert.CollectT) {
			status := s.Kyma("crashed").Status
			assert.Equal(c, shared.StateError, status.State)
			assert.Equal(c, "UnreachableNetwork", status.Remote.Reason)
			for _, name := range modules {
				module := harness.ModulesByName(status.Modules)[name]
				assert.Equal(c, shared.StateReady, module.State, name)
				assert.Contains(c, module.Message, "last known state Ready: the cluster cannot be reached since", name)
			}
		})
	}

	g.Hold("/deployments/sample-operator", http.MethodPatch)
	s.EditRemote(func(k *v1beta2.Kyma) { k.Spec.Modules = append(k.Spec.Modules, v1beta2.Module{Name: "sample"}) })
	g.Await()
	crash()
	g.Drop()
	becomesStale("early")
	comeBack()
	s.BecomesReady("crashed", "early@1.0.0", "sample@1.0.0")
	before := harness.Shapes(s.All(t, s.Remote))

	crash()
	becomesStale("early", "sample")
	comeBack()
	s.BecomesReady("crashed", "early@1.0.0", "sample@1.0.0")
	s.Eventually("nothing is stale any more", 2*time.Minute, func(c *assert.CollectT) {
		for name, module := range harness.ModulesByName(s.Kyma("crashed").Status.Modules) {
			assert.Empty(c, module.Message, name)
		}
	})
	require.Equal(t, before, harness.Shapes(s.All(t, s.Remote)))
	s.GiveAccess("crashed", s.RemoteAccess(t)) // the gate ends before the stage is cleared
}
