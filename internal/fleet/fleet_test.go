package fleet_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/fleettest"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// fixture is an API server that counts its reads, and informers that may lag behind.
type fixture struct {
	*fleet.Fleet
	live  client.Client
	mu    sync.Mutex // reads run concurrently
	reads []string
	// upTo is the resource version up to which the informers know everything.
	upTo string
}

func newFixture(t *testing.T, known ...client.Object) *fixture {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1beta2.AddToScheme(scheme))
	w := &fixture{upTo: "100"}
	w.live = fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			w.read("get " + key.Name)
			return c.Get(ctx, key, object, options...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			w.read("list")
			return c.List(ctx, list, options...)
		},
	}).Build()
	cached := fleettest.Indexed(fake.NewClientBuilder().WithScheme(scheme)).WithObjects(known...).Build()
	w.Fleet = fleet.Over(cached, w.live, func(context.Context, client.Object, string) string { return w.upTo })
	return w
}

func (w *fixture) read(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads = append(w.reads, what)
}

func (w *fixture) make(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		object.SetResourceVersion("")
		require.NoError(t, w.live.Create(context.Background(), object))
	}
	w.reads = nil
}

func kyma(recorded ...string) *v1beta2.Kyma {
	return &v1beta2.Kyma{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kcp-system", Name: "demo", UID: "demo-uid"},
		Status:     v1beta2.KymaStatus{Manifests: recorded},
	}
}

func manifest(name string, owner types.UID) *v1beta2.Manifest {
	isController := true
	return &v1beta2.Manifest{ObjectMeta: metav1.ObjectMeta{
		Namespace: "kcp-system", Name: name, UID: types.UID(name), Labels: map[string]string{shared.LabelKymaName: "demo"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: v1beta2.GroupVersion.String(), Kind: "Kyma", Name: "demo", UID: owner, Controller: &isController}},
	}}
}

func seen(resourceVersion string) []desired.Seen {
	return []desired.Seen{{Kind: shared.KindManifest, ResourceVersion: resourceVersion}}
}

func names(manifests []v1beta2.Manifest) []string {
	var all []string
	for _, m := range manifests {
		all = append(all, m.Name)
	}
	slices.Sort(all)
	return all
}

func TestObjectsThatTheInformerKnowsAreNotReadAgain(t *testing.T) {
	unlabelled := manifest("unlabelled", "demo-uid")
	unlabelled.Labels = nil
	w := newFixture(t, manifest("a", "demo-uid"), manifest("earlier", "another-uid"), unlabelled)
	found, err := w.Manifests(context.Background(), kyma("a"), seen("100"))
	require.NoError(t, err)
	require.Equal(t, []string{"a", "unlabelled"}, names(found.Own), "by owner, whatever the labels")
	require.Equal(t, []string{"earlier"}, names(found.Foreign))
	require.Empty(t, w.reads)
}

func TestRecordedObjectsThatTheInformerLacksAreReadLive(t *testing.T) {
	w := newFixture(t, manifest("a", "demo-uid"))
	w.make(t, manifest("b", "demo-uid"))
	of := kyma("a", "b", "gone")
	of.Status.Modules = []v1beta2.ModuleStatus{{Name: "c", Manifest: &v1beta2.TrackedObject{Metadata: v1beta2.TrackedMeta{Name: "c"}}}}
	w.make(t, manifest("c", "demo-uid"))
	found, err := w.Manifests(context.Background(), of, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c"}, names(found.Own))
	slices.Sort(w.reads)
	require.Equal(t, []string{"get b", "get c", "get gone"}, w.reads)
}

func TestAnInformerThatLagsBehindIsNotTrusted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the code waits for an informer that lags behind
		w := newFixture(t, manifest("a", "demo-uid"), manifest("deleted", "demo-uid"))
		w.make(t, manifest("a", "demo-uid"))
		found, err := w.Manifests(context.Background(), kyma("a"), seen("101"))
		require.NoError(t, err)
		require.Equal(t, []string{"a"}, names(found.Own), "each Manifest is read by name")
		require.NotContains(t, w.reads, "list")

		_, err = w.AllManifests(context.Background(), kyma(), seen("101"))
		require.Equal(t, fleet.ReasonBehind, fault.Of(err).Reason, "the absence of other Manifests is not trusted")
		require.Equal(t, fault.Transient, fault.Of(err).Kind)
		_, err = w.OfKyma(context.Background(), kick.Ref{Namespace: "kcp-system", Name: "demo", UID: "demo-uid"}, seen("101"))
		require.Equal(t, fleet.ReasonBehind, fault.Of(err).Reason)
		_, err = w.Sharing(context.Background(), "module", "101")
		require.Equal(t, fleet.ReasonBehind, fault.Of(err).Reason)
		w.upTo = ""
		_, err = w.AllManifests(context.Background(), kyma(), seen("1"))
		require.Equal(t, fleet.ReasonBehind, fault.Of(err).Reason, "nor is an informer without a version")
	})
}

// A Kyma's agent is found together with its modules, by the same indexes and the same record. The required version of
// each informer comes from the objects of its kind that were seen, because the two informers are never equally current.
func TestTheAgentOfAKymaIsAmongItsInstallations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the code waits for an informer that lags behind
		agent := (*v1beta2.RemoteAgent)(manifest(shared.RemoteAgentName("demo"), "demo-uid"))
		w := newFixture(t, manifest("a", "demo-uid"), agent)
		w.make(t, manifest("a", "demo-uid"), agent)
		all := []string{"a", agent.Name}

		found, err := w.Manifests(context.Background(), kyma("a"), seen("100"))
		require.NoError(t, err)
		require.Equal(t, all, names(found.Own))
		require.Empty(t, w.reads)

		later := []desired.Seen{{Kind: shared.KindRemoteAgent, ResourceVersion: "101"}}
		_, err = w.AllManifests(context.Background(), kyma("a"), later)
		require.Equal(t, fleet.ReasonBehind, fault.Of(err).Reason)
		require.Contains(t, err.Error(), "RemoteAgents")
		found, err = w.Manifests(context.Background(), kyma("a"), later)
		require.NoError(t, err)
		require.Equal(t, all, names(found.Own), "each object is read by name")
		require.Len(t, w.reads, 2)
	})
}

func TestNothingIsLeftOnlyIfIndexRecordAndLiveReadsAgree(t *testing.T) {
	w := newFixture(t, manifest("known", "demo-uid"))
	w.make(t, manifest("recorded", "demo-uid"))
	found, err := w.AllManifests(context.Background(), kyma("recorded"), seen("100"))
	require.NoError(t, err)
	require.Equal(t, []string{"recorded"}, names(found.Own))
	require.ElementsMatch(t, []string{"get known", "get recorded"}, w.reads)
}

func TestNewestComparesTheVersionsOfOneKind(t *testing.T) {
	seen := []desired.Seen{
		{Kind: "Manifest", Name: "a", ResourceVersion: "99"}, {Kind: "Manifest", Name: "b", ResourceVersion: "101"},
		{Kind: "Secret", Name: "s", ResourceVersion: "500"}, {Kind: "Manifest", Name: "c"},
	}
	require.Equal(t, "101", fleet.Newest(seen, "Manifest"))
	require.Empty(t, fleet.Newest(seen, "Kyma"))
}

func TestStripKeepsWhichObjectsAreInAnInventory(t *testing.T) {
	m := manifest("a", "demo-uid")
	m.Status.Inventory = []v1beta2.InventoryEntry{{ID: "ns_one__ConfigMap", UID: "1"}, {ID: "ns_two__ConfigMap"}, {ID: "_three_rbac_ClusterRole"}}
	full := m.DeepCopy()
	for range 2 { // an informer may strip an object again
		_, err := fleet.Strip(m)
		require.NoError(t, err)
	}
	require.Len(t, m.Status.Inventory, 1)
	require.Len(t, m.Status.Inventory[0].ID, 1+3*8)
	for _, either := range []*v1beta2.Manifest{m, full} {
		for _, entry := range full.Status.Inventory {
			require.True(t, fleet.Claims(either, map[string]bool{entry.ID: true, "other": true}))
		}
		require.False(t, fleet.Claims(either, map[string]bool{"ns_four__ConfigMap": true, "ns_five__ConfigMap": true}))
	}
	agent := (*v1beta2.RemoteAgent)(full.DeepCopy())
	agent.Status.Synced = []v1beta2.SyncedObject{{Name: "one"}}
	_, err := fleet.Strip(agent)
	require.NoError(t, err)
	require.Empty(t, agent.Status.Synced)
	kept, known := fleet.Inventory((*v1beta2.Manifest)(agent))
	require.True(t, known)
	require.Equal(t, full.Status.Inventory, kept, "the sweep compares a part of the inventory")
	_, known = fleet.Inventory(m)
	require.False(t, known)
	empty := manifest("b", "demo-uid")
	_, err = fleet.Strip(empty)
	require.NoError(t, err)
	require.Empty(t, empty.Status.Inventory)
	require.False(t, fleet.Claims(empty, map[string]bool{"": true}))
}
