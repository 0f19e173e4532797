package e2e

import (
	"context"
	"net/http"
	"os/exec"
	"strings"
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
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// A cluster that is cut off in the middle of an installation, or falls silent, holds nothing up for good: what is
// missing is applied when it is back. Meanwhile what was ready is said to have been.
func TestAClusterThatIsCutOffInMidApplyIsInstalledWhenItIsBack(t *testing.T) {
	s := newStage(t)
	s.push("test/modules/sample/1.0.0")
	s.pushTiny("early")
	s.instance.start()
	g, through := s.gated(t)
	s.giveAccess("cut", through)
	require.NoError(t, s.controlPlane.Create(t.Context(), newKyma("cut", "early")))
	s.becomesReady("cut", "early@1.0.0")

	for name, mode := range map[string]cableMode{"cut": cableCut, "silent": cableSilent} {
		t.Run(name, func(t *testing.T) {
			g.hold("/deployments/sample-operator", http.MethodPatch)
			s.editRemote(func(k *v1beta2.Kyma) { k.Spec.Modules = append(k.Spec.Modules, v1beta2.Module{Name: "sample"}) })
			g.await()
			g.set(mode)
			g.drop()
			s.isNotThere(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: remoteNamespace, Name: "sample-operator"}})
			s.eventually("the Kyma says since when", 2*time.Minute, func(c *assert.CollectT) {
				status := s.kyma("cut").Status
				if assert.NotNil(c, status.Remote.Reachable) {
					assert.False(c, *status.Remote.Reachable)
				}
				early := byName(status.Modules)["early"]
				assert.Equal(c, shared.StateReady, early.State)
				assert.Contains(c, early.Message, "last known state Ready: the cluster cannot be reached since")
			})
			g.set(cablePasses)
			s.becomesReady("cut", "early@1.0.0", "sample@1.0.0")
			s.eventually("nothing is stale any more", 2*time.Minute, func(c *assert.CollectT) {
				assert.Empty(c, byName(s.kyma("cut").Status.Modules)["early"].Message)
			})
			s.editRemote(func(k *v1beta2.Kyma) { k.Spec.Modules = k.Spec.Modules[:1] })
			s.becomesReady("cut", "early@1.0.0")
		})
	}
	s.giveAccess("cut", s.remoteAccess(t)) // the cable ends before the stage is cleared
}

// isNotThere requires that an object is not in the remote cluster.
func (s *stage) isNotThere(object client.Object) {
	s.t.Helper()
	err := s.remote.Get(ctx(s.t), client.ObjectKeyFromObject(object), object)
	require.True(s.t, apierrors.IsNotFound(err), "%T %s is there: %v", object, object.GetName(), err)
}

// New credentials are taken at once, and the old ones never again.
func TestCredentialsAreRotatedAndTheOldOnesRevoked(t *testing.T) {
	s := newStage(t)
	s.pushTiny("first")
	s.pushTiny("second")
	s.instance.start()
	old, fresh := s.newAccount(t, "rotated-out"), s.newAccount(t, "rotated-in")
	s.giveAccess("rotated", old.kubeconfig)
	require.NoError(t, s.controlPlane.Create(t.Context(), newKyma("rotated", "first")))
	s.becomesReady("rotated", "first@1.0.0")

	s.giveAccess("rotated", fresh.kubeconfig)
	old.revoke()
	s.editRemote(func(k *v1beta2.Kyma) { k.Spec.Modules = append(k.Spec.Modules, v1beta2.Module{Name: "second"}) })
	s.becomesReady("rotated", "first@1.0.0", "second@1.0.0")

	t.Run("revoked ones are said so, until there are others", func(t *testing.T) {
		next := s.newAccount(t, "rotated-next")
		fresh.revoke()
		s.eventually("the Kyma says so", 2*time.Minute, func(c *assert.CollectT) {
			assert.Equal(c, "UnreachableUnauthorized", s.kyma("rotated").Status.Remote.Reason)
		})
		s.giveAccess("rotated", next.kubeconfig)
		s.becomesReady("rotated", "first@1.0.0", "second@1.0.0")
	})
	s.giveAccess("rotated", s.remoteAccess(t)) // the accounts end before the stage is cleared
}

// Without its Secret an installation stops, and a deletion waits; with it they go on.
func TestTheAccessSecretIsDeletedDuringAnInstallationAndDuringADeletion(t *testing.T) {
	s := newStage(t)
	s.push("test/modules/sample/1.0.0")
	s.instance.start()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "lost-access", Namespace: controlPlaneNamespace}}
	kyma := newKyma("lost", "sample")
	g, through := s.gated(t)
	s.giveAccess("lost", through)
	g.hold("/deployments/sample-operator", http.MethodPatch)
	require.NoError(t, s.controlPlane.Create(t.Context(), kyma))
	g.await()
	require.NoError(t, s.controlPlane.Delete(t.Context(), secret))
	g.let()
	s.saysError("lost", "access secret not found")
	require.Equal(t, "AccessSecretNotFound", s.kyma("lost").Status.Remote.Reason)
	s.give("lost")
	s.becomesReady("lost", "sample@1.0.0")

	require.NoError(t, s.controlPlane.Delete(t.Context(), s.kyma("lost")))
	require.NoError(t, s.controlPlane.Delete(t.Context(), secret))
	s.sweeps(t, 2)
	s.give("lost")
	s.eventually("the Kyma is gone", 2*time.Minute, func(c *assert.CollectT) { assert.True(c, s.isGone(kyma)) })
	require.Empty(t, s.ofModule(t, s.remote))
}

// A remote API server that crashes is waited for: what was ready is said to have been, and what is missing is
// installed when the server is back.
func TestARemoteAPIServerIsKilledDuringAnInstallationAndWhenAllIsReady(t *testing.T) {
	s := newStage(t)
	s.push("test/modules/sample/1.0.0")
	s.pushTiny("early")
	s.instance.start()
	const server = "remote-1/kube-apiserver"
	down := false
	crash := func() {
		down = true
		s.fleet("stop", "--kill", server)
	}
	comeBack := func() {
		s.fleet("start", server)
		// These come back by themselves, but take up to a minute to notice.
		for _, program := range []string{"kube-controller-manager", "kube-scheduler", "kwok"} {
			s.fleet("stop", "remote-1/"+program)
			s.fleet("start", "remote-1/"+program)
		}
		down = false
	}
	// Whatever happens, the stage is cleared, and the next test begins, with a cluster that works.
	t.Cleanup(func() {
		if down {
			comeBack()
		}
		require.NoError(t, s.remote.List(context.Background(), &corev1.NamespaceList{}))
	})
	g, through := s.gated(t)
	s.giveAccess("crashed", through)
	require.NoError(t, s.controlPlane.Create(t.Context(), newKyma("crashed", "early")))
	s.becomesReady("crashed", "early@1.0.0")
	becomesStale := func(modules ...string) {
		t.Helper()
		s.eventually("the Kyma says since when", 2*time.Minute, func(c *assert.CollectT) {
			status := s.kyma("crashed").Status
			assert.Equal(c, shared.StateError, status.State)
			assert.Equal(c, "UnreachableNetwork", status.Remote.Reason)
			for _, name := range modules {
				module := byName(status.Modules)[name]
				assert.Equal(c, shared.StateReady, module.State, name)
				assert.Contains(c, module.Message, "last known state Ready: the cluster cannot be reached since", name)
			}
		})
	}

	g.hold("/deployments/sample-operator", http.MethodPatch)
	s.editRemote(func(k *v1beta2.Kyma) { k.Spec.Modules = append(k.Spec.Modules, v1beta2.Module{Name: "sample"}) })
	g.await()
	crash()
	g.drop()
	becomesStale("early")
	comeBack()
	s.becomesReady("crashed", "early@1.0.0", "sample@1.0.0")
	before := shapes(s.all(t, s.remote))

	crash()
	becomesStale("early", "sample")
	comeBack()
	s.becomesReady("crashed", "early@1.0.0", "sample@1.0.0")
	s.eventually("nothing is stale any more", 2*time.Minute, func(c *assert.CollectT) {
		for name, module := range byName(s.kyma("crashed").Status.Modules) {
			assert.Empty(c, module.Message, name)
		}
	})
	require.Equal(t, before, shapes(s.all(t, s.remote)))
	s.giveAccess("crashed", s.remoteAccess(t)) // the gate ends before the stage is cleared
}

// fleet does something to the fleet that the tests run on. It works in clean-ups too.
func (s *stage) fleet(args ...string) {
	s.t.Helper()
	bounded, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(bounded, testfleet.Binary(s.t, "fleet"), args...)
	cmd.Env = s.environment()
	out, err := cmd.CombinedOutput()
	require.NoError(s.t, err, "fleet %s: %s", strings.Join(args, " "), out)
}
