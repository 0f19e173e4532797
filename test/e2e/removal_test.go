package e2e

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
)

const (
	// fleetSize is how many Kymas there are in the test of what a change of the catalog may remove: more than lose a module at
	// once by an approved removal.
	fleetSize = 6
	// removalRate is how many modules per minute are removed after an approval. A sixth of them, removalBurst, go at once, and
	// one more every removalPause.
	removalRate  = 12
	removalBurst = removalRate / 6
	removalPause = time.Minute / removalRate
)

// However the catalog is damaged, no module is uninstalled from many Kymas, in three clusters, before somebody approved it.
func TestNoChangeOfTheCatalogRemovesAModuleFromAFleet(t *testing.T) {
	const webhook, certificate = "e2e-removal-webhook", "e2e-removal-webhook-tls"
	s := harness.NewMultiClusterEnvironment(t, append(webhookFlags(t, webhook, certificate), "--catalog-removal-rate", fmt.Sprint(removalRate))...)
	removeWebhook(s, webhook, certificate)
	s.SweepOften() // two whole passes are waited for
	catalog := s.Pack(harness.MinimalModule{Name: "common", Channels: "regular"})
	s.Apply(s.ControlPlane, harness.ControlPlaneNamespace, catalog)
	s.Instance.Start()
	for i := range fleetSize {
		s.At(i % len(s.Remotes)).Create(harness.NewSynced(fmt.Sprintf("many-%02d", i), "common"))
	}
	// Kymas go first: one that exists creates its namespace again.
	t.Cleanup(func() { deleteFleetNamespaces(s) })
	t.Cleanup(s.DeleteEverything)
	fleetShows(t, s, shared.StateReady, "")
	installed := fleetManifests(t, s)
	require.Len(t, installed, fleetSize)

	t.Run("every template and release meta is deleted: what is installed stays, with the reason", func(t *testing.T) {
		for _, obj := range []client.Object{&v1beta2.ModuleTemplate{}, &v1beta2.ModuleReleaseMeta{}} {
			require.NoError(t, s.ControlPlane.DeleteAllOf(t.Context(), obj, client.InNamespace(harness.ControlPlaneNamespace)))
		}
		fleetShows(t, s, shared.StateError, "no ModuleReleaseMeta found")
		s.Sweeps(t, 2)
		require.Equal(t, installed, fleetManifests(t, s), "no Manifest is deleted, or another one")
		fleetHas(t, s, fleetSize)
	})
	t.Run("the catalog is back: the Kymas are as before", func(t *testing.T) {
		s.Apply(s.ControlPlane, harness.ControlPlaneNamespace, catalog)
		fleetShows(t, s, shared.StateReady, "")
		require.Equal(t, installed, fleetManifests(t, s))
	})
	meta := &v1beta2.ModuleReleaseMeta{}
	marker := ""
	t.Run("the module is marked beta: its removal needs an approval, and the Kymas are as before", func(t *testing.T) {
		meta.Namespace, meta.Name = harness.ControlPlaneNamespace, "common"
		harness.EditObject(t, s.ControlPlane, meta, func() { meta.Spec.Beta = true })
		marked := meta.ResourceVersion
		s.Eventually("the release meta says that removals need an approval", 2*time.Minute, func(c *assert.CollectT) {
			require.NoError(c, s.ControlPlane.Get(t.Context(), client.ObjectKeyFromObject(meta), meta))
			marker = meta.Annotations["operator.kyma-project.io/held-removal"]
			assert.Equal(c, marked, marker, "the change that causes them")
			assert.Contains(c, s.Warnings(meta)["RemovalHeld"], fmt.Sprintf("%d Kymas would lose a module by this change, more than the limit of %d; "+
				"nothing is removed until somebody approves change %s in RemovalBudget kcp-system/lifecycle-manager", fleetSize, max(1, fleetSize*5/100), marked))
		})
		s.Sweeps(t, 1)
		fleetShows(t, s, shared.StateReady, "")
		require.Equal(t, installed, fleetManifests(t, s))
	})
	t.Run("it is approved: the removal begins, at a limited rate", func(t *testing.T) {
		harness.EditObject(t, s.ControlPlane, meta, func() {
			metav1.SetMetaDataAnnotation(&meta.ObjectMeta, "operator.kyma-project.io/approved-removal", marker)
		})
		s.Sweeps(t, 1)
		require.Equal(t, installed, fleetManifests(t, s), "an annotation approves nothing")
		begin := time.Now()
		budget := &v1beta2.RemovalBudget{ObjectMeta: metav1.ObjectMeta{Namespace: harness.ControlPlaneNamespace, Name: shared.ManagedByLifecycleManager}}
		harness.EditObject(t, s.ControlPlane, budget, func() {
			budget.Spec.Approvals = []v1beta2.RemovalApproval{{Change: marker, By: "somebody else"}}
		})
		require.NotContains(t, []string{"", "somebody else"}, budget.Spec.Approvals[0].By, "admission says who approved")
		s.Eventually("more Kymas lose the module than may at once", 2*time.Minute, func(c *assert.CollectT) {
			assert.Less(c, len(fleetManifests(t, s)), fleetSize-removalBurst)
		})
		require.GreaterOrEqual(t, time.Since(begin), removalPause, "one of them had to wait")
		require.NotEmpty(t, fleetManifests(t, s), "not all at once")
	})
}

// fleetShows waits until every Kyma shows its one module so.
func fleetShows(t *testing.T, s *harness.Environment, state shared.State, message string) {
	t.Helper()
	s.Eventually(fmt.Sprintf("every Kyma shows %s %q", state, message), 5*time.Minute, func(c *assert.CollectT) {
		var kymas v1beta2.KymaList
		require.NoError(c, s.ControlPlane.List(t.Context(), &kymas, client.InNamespace(harness.ControlPlaneNamespace)))
		require.Len(c, kymas.Items, fleetSize)
		others := map[string]int{}
		for _, kyma := range kymas.Items {
			module := harness.ModulesByName(kyma.Status.Modules)["common"]
			if module.State != state || module.Message != message || module.Manifest == nil || kyma.Status.State != state {
				others[fmt.Sprintf("Kyma %s, module %s: %s", kyma.Status.State, module.State, module.Message)]++
			}
		}
		assert.Empty(c, others)
	})
}

// fleetManifests are the uids of all Manifests that are not being deleted, by name.
func fleetManifests(t *testing.T, s *harness.Environment) map[string]types.UID {
	t.Helper()
	var manifests v1beta2.ManifestList
	require.NoError(t, s.ControlPlane.List(t.Context(), &manifests, client.InNamespace(harness.ControlPlaneNamespace)))
	uids := map[string]types.UID{}
	for _, manifest := range manifests.Items {
		if manifest.DeletionTimestamp.IsZero() {
			uids[manifest.Name] = manifest.UID
		}
	}
	return uids
}

// fleetHas makes sure that the module is in so many remote namespaces.
func fleetHas(t *testing.T, s *harness.Environment, want int) {
	t.Helper()
	has := 0
	for _, remote := range s.Remotes {
		has += len(s.MinimalUIDs(t, remote, "common"))
	}
	require.Equal(t, want, has)
}

// deleteFleetNamespaces deletes the namespaces, so that the remote cluster is no slower for the next test.
func deleteFleetNamespaces(s *harness.Environment) {
	var all sync.WaitGroup
	defer all.Wait()
	for at, remote := range s.Remotes {
		var names []string
		for i := at; i < fleetSize; i += len(s.Remotes) {
			names = append(names, fmt.Sprintf("many-%02d", i))
		}
		all.Go(func() { s.RemoveNamespaces(remote, names...) })
	}
}
