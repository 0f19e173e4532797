package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
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

// What keeps one module back is said in its own status, in words that help, and in no other's.
func TestModulesThatCannotBecomeReadySayWhatKeepsThemBack(t *testing.T) {
	s := newStage(t, "--stuck-workload-timeout", "2s", "--missing-api-timeout", "2s")
	const shelf = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shelf}\n"
	s.pushOne(tiny{name: "owner", channels: "regular", manifest: shelf})
	s.pushOne(tiny{name: "rival", channels: "regular", manifest: shelf + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: rival}\n"})
	s.pushOne(tiny{name: "homeless", channels: "regular", manifest: homeless})
	s.pushOne(tiny{name: "kindless", channels: "regular", manifest: "apiVersion: nowhere.example.com/v1\nkind: Nothing\nmetadata: {name: one}\n"})
	s.instance.start()

	s.create(newKyma("kept", "owner", "homeless", "kindless"))
	s.readyAmongOthers("kept", "owner", "1.0.0")
	s.editRemote(func(k *v1beta2.Kyma) { k.Spec.Modules = append(k.Spec.Modules, v1beta2.Module{Name: "rival"}) })
	for module, want := range map[string]string{
		"rival":    "1 of 2 objects could not be applied: ConfigMap kyma-system/shelf: belongs to module owner",
		"homeless": "Deployment kyma-system/homeless (Unschedulable: ",
		"kindless": "the cluster does not know nowhere.example.com/v1, Kind=Nothing",
	} {
		s.eventually(module+" says what keeps it back", 2*time.Minute, func(c *assert.CollectT) {
			found := s.module("kept", module)
			assert.Equal(c, shared.StateError, found.State, found.Message)
			assert.Contains(c, found.Message, want)
		})
	}
	s.readyAmongOthers("kept", "owner", "1.0.0")
	require.Equal(t, "1.0.0", s.module("kept", "owner").Version)
	require.NoError(t, s.remote.Get(t.Context(), client.ObjectKey{Namespace: remoteNamespace, Name: "rival"}, &corev1.ConfigMap{}), "the rest of it is applied")
}

// A version that cannot be applied is said to be so, and moving the channel back repairs it; a Manifest that was
// restored without its status leaves nothing behind.
func TestABrokenUpgradeIsRepairedByMovingTheChannelBackAndALostInventoryIsFound(t *testing.T) {
	s := newStage(t)
	s.pushOne(tiny{name: "fragile", version: "1.0.0"})
	s.pushOne(tiny{
		name: "fragile", version: "1.1.0", channels: "fast, regular=1.0.0",
		manifest: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Not_A_Name}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: fragile}\ndata: {version: 1.1.0}\n",
	})
	s.instance.start()
	s.create(newKyma("mended", "fragile"))
	s.readyAmongOthers("mended", "fragile", "1.0.0")

	s.editEntry("fragile", func(m *v1beta2.Module) { m.Channel = "fast" })
	s.eventually("the broken version says so", 2*time.Minute, func(c *assert.CollectT) {
		found := s.module("mended", "fragile")
		assert.Equal(c, shared.StateError, found.State, found.Message)
		assert.Contains(c, found.Message, "1 of 2 objects could not be applied: ConfigMap kyma-system/Not_A_Name: invalid: metadata.name")
	})
	// Part of the higher version is in the cluster, so going back is a downgrade, which somebody has to want.
	edit(t, s.controlPlane, s.kyma("mended"), func(k *v1beta2.Kyma) {
		k.Annotations = map[string]string{desired.AnnotationAllowDowngrade: shared.ValueTrue}
	})
	s.editEntry("fragile", func(m *v1beta2.Module) { m.Channel = "" })
	s.readyAmongOthers("mended", "fragile", "1.0.0")
	require.Equal(t, "1.0.0", s.tinyVersion(remoteNamespace, "fragile"))

	kyma := s.kyma("mended")
	// Not before it has settled: until then its workflow writes into the status what it has just installed.
	s.eventually("the Manifest loses its status", 2*time.Minute, func(c *assert.CollectT) {
		manifests := s.manifests(kyma)
		require.Len(c, manifests, 1)
		require.True(c, manifests[0].Status.Settled)
		manifests[0].Status = v1beta2.ManifestStatus{}
		require.NoError(c, s.controlPlane.Status().Update(t.Context(), &manifests[0]))
	})
	s.editRemote(func(k *v1beta2.Kyma) { k.Spec.Modules = nil })
	s.eventually("nothing of it is left", 2*time.Minute, func(c *assert.CollectT) {
		assert.Empty(c, s.manifests(kyma))
		assert.Empty(c, s.tinyVersion(remoteNamespace, "fragile"))
	})
}
