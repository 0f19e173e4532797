package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/test/harness"
)

const homeless = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: homeless}
spec:
  selector: {matchLabels: {app: homeless}}
  template:
    metadata: {labels: {app: homeless}}
    spec:
      nodeSelector: {nowhere: "true"}
      containers: [{name: homeless, image: "example.com/homeless:1.0.0"}]
`

// What keeps a module from becoming Ready is in its status, and can be repaired.
func TestWhatKeepsAModuleFromBecomingReadyIsInItsStatus(t *testing.T) {
	s := harness.NewEnvironment(t)
	s.PushModule(harness.MinimalModule{Name: "fragile", Version: "1.0.0"})
	s.PushModule(harness.MinimalModule{
		Name: "fragile", Version: "1.1.0", Channels: "fast, regular=1.0.0",
		Manifest: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Not_A_Name}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: fragile}\ndata: {version: 1.1.0}\n",
	})
	s.Instance.Start()
	s.Create(harness.NewKyma("kept", "fragile"))
	s.ReadyAmongOthers("kept", "fragile", "1.0.0")
	t.Run("a broken upgrade is repaired by moving the channel back", func(t *testing.T) { brokenUpgradeIsRepaired(t, s) })
	t.Run("a Manifest that was restored without its status is removed completely", func(t *testing.T) { lostInventoryIsFound(t, s) })

	s.Instance.Stop()
	s.Instance.Flags = []string{"--stuck-workload-timeout", "2s", "--missing-api-timeout", "2s"}
	s.SweepOften() // an edit in the remote cluster while modules are not ready is found by passes
	s.Instance.Start()
	t.Run("what blocks one module is in its own status, and in no other's", func(t *testing.T) { blockedModulesSayWhy(t, s) })
}

// A version that cannot be applied is reported, and moving the channel back repairs it.
func brokenUpgradeIsRepaired(t *testing.T, s *harness.Environment) {
	t.Helper()
	s.EditEntry("fragile", func(m *v1beta2.Module) { m.Channel = "fast" })
	s.Eventually("the broken version says so", 2*time.Minute, func(c *assert.CollectT) {
		found := s.Module("kept", "fragile")
		assert.Equal(c, shared.StateError, found.State, found.Message)
		assert.Contains(c, found.Message, "1 of 2 objects could not be applied: ConfigMap kyma-system/Not_A_Name: invalid: metadata.name")
	})
	// Part of the higher version is in the cluster, so going back is a downgrade, which somebody has to want.
	harness.Edit(t, s.ControlPlane, s.Kyma("kept"), func(k *v1beta2.Kyma) {
		k.Annotations = map[string]string{desired.AnnotationAllowDowngrade: shared.ValueTrue}
	})
	s.EditEntry("fragile", func(m *v1beta2.Module) { m.Channel = "" })
	s.ReadyAmongOthers("kept", "fragile", "1.0.0")
	require.Equal(t, "1.0.0", s.MinimalVersion(harness.RemoteNamespace, "fragile"))
}

// lostInventoryIsFound removes a module whose Manifest has lost its status.
func lostInventoryIsFound(t *testing.T, s *harness.Environment) {
	t.Helper()
	kyma := s.Kyma("kept")
	// Not before it has settled: until then its workflow writes into the status what it has just installed.
	s.Eventually("the Manifest loses its status", 2*time.Minute, func(c *assert.CollectT) {
		manifests := s.Manifests(kyma)
		require.Len(c, manifests, 1)
		require.True(c, manifests[0].Status.Settled)
		manifests[0].Status = v1beta2.ManifestStatus{}
		require.NoError(c, s.ControlPlane.Status().Update(t.Context(), &manifests[0]))
	})
	s.EditRemote(func(k *v1beta2.Kyma) { k.Spec.Modules = nil })
	s.Eventually("nothing of it remains", 2*time.Minute, func(c *assert.CollectT) {
		assert.Empty(c, s.Manifests(kyma))
		assert.Empty(c, s.MinimalVersion(harness.RemoteNamespace, "fragile"))
	})
}

// What blocks one module is in its own status, with a message that helps, and in no other's.
func blockedModulesSayWhy(t *testing.T, s *harness.Environment) {
	t.Helper()
	const shelf = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shelf}\n"
	s.PushModule(harness.MinimalModule{Name: "owner", Channels: "regular", Manifest: shelf})
	s.PushModule(harness.MinimalModule{Name: "rival", Channels: "regular", Manifest: shelf + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: rival}\n"})
	s.PushModule(harness.MinimalModule{Name: "homeless", Channels: "regular", Manifest: homeless})
	s.PushModule(harness.MinimalModule{Name: "kindless", Channels: "regular", Manifest: "apiVersion: nowhere.example.com/v1\nkind: Nothing\nmetadata: {name: one}\n"})

	s.EditRemote(func(k *v1beta2.Kyma) {
		k.Spec.Modules = []v1beta2.Module{{Name: "owner"}, {Name: "homeless"}, {Name: "kindless"}}
	})
	s.ReadyAmongOthers("kept", "owner", "1.0.0")
	s.EditRemote(func(k *v1beta2.Kyma) { k.Spec.Modules = append(k.Spec.Modules, v1beta2.Module{Name: "rival"}) })
	for module, want := range map[string]string{
		"rival":    "1 of 2 objects could not be applied: ConfigMap kyma-system/shelf: belongs to module owner",
		"homeless": "Deployment kyma-system/homeless (Unschedulable: ",
		"kindless": "the cluster does not serve nowhere.example.com/v1, Kind=Nothing",
	} {
		s.Eventually(module+" says what keeps it back", 2*time.Minute, func(c *assert.CollectT) {
			found := s.Module("kept", module)
			assert.Equal(c, shared.StateError, found.State, found.Message)
			assert.Contains(c, found.Message, want)
		})
	}
	s.ReadyAmongOthers("kept", "owner", "1.0.0")
	require.Equal(t, "1.0.0", s.Module("kept", "owner").Version)
	require.NoError(t, s.Remote.Get(t.Context(), client.ObjectKey{Namespace: harness.RemoteNamespace, Name: "rival"}, &corev1.ConfigMap{}), "the rest of it is applied")
}
