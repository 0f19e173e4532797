package inventory

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
)

func entry(id, uid string) v1beta2.InventoryEntry {
	return v1beta2.InventoryEntry{ID: id, Version: "v1", UID: uid}
}

func TestInventory(t *testing.T) {
	t.Parallel()
	old := []v1beta2.InventoryEntry{entry("_ConfigMap_ns_a", "1"), entry("_ConfigMap_ns_b", "2")}
	wanted := []v1beta2.InventoryEntry{entry("_ConfigMap_ns_c", ""), {ID: "_ConfigMap_ns_b", Version: "v2"}}

	before := Union(old, wanted)
	require.Equal(t, []v1beta2.InventoryEntry{
		{ID: "_ConfigMap_ns_a", Version: "v1", UID: "1", Leaving: true}, {ID: "_ConfigMap_ns_b", Version: "v2", UID: "2"}, entry("_ConfigMap_ns_c", ""),
	}, before, "the union keeps known facts, sorts by id, and marks objects that are no longer wanted")
	require.False(t, Union(before, old)[0].Leaving, "an object that is wanted again stays")
	require.Equal(t, before, Union(before, wanted), "a second union changes nothing")
	require.Equal(t, old[:1], Obsolete(old, wanted))
	require.Empty(t, Obsolete(nil, wanted))

	applied := map[string]v1beta2.InventoryEntry{"_ConfigMap_ns_c": entry("_ConfigMap_ns_c", "3"), "_ConfigMap_ns_x": entry("_ConfigMap_ns_x", "4")}
	after := Record(before, applied, map[string]bool{"_ConfigMap_ns_a": true})
	require.Equal(t, []v1beta2.InventoryEntry{{ID: "_ConfigMap_ns_b", Version: "v2", UID: "2"}, entry("_ConfigMap_ns_c", "3")}, after,
		"objects that were not in the inventory are not recorded, objects that are gone are dropped")
	require.Equal(t, []v1beta2.SyncedObject{
		{Version: "v2", Kind: "ConfigMap", Namespace: "ns", Name: "b"}, {Version: "v1", Kind: "ConfigMap", Namespace: "ns", Name: "c"},
	}, syncedOf(after))
	require.Empty(t, OfStage([]v1beta2.InventoryEntry{{ID: "nonsense", Version: "v1"}}, kinds.StageConfiguration), "an entry that cannot be read has no stage")
}

func TestTheInventorySaysWhatWasAppliedAndOfWhichKinds(t *testing.T) {
	var s v1beta2.ManifestStatus
	SetInventory(&s, []v1beta2.InventoryEntry{
		{ID: "_ConfigMap_a_intended", Version: "v1"}, {ID: "_ConfigMap_a_applied", Version: "v1", UID: "1"},
		{ID: "apps_Deployment_a_b", Version: "v1"}, {ID: "unreadable", Version: "v1"},
	})
	require.Equal(t, []string{"/v1/ConfigMap", "apps/v1/Deployment"}, s.Kinds)
	require.Equal(t, []v1beta2.SyncedObject{{Version: "v1", Kind: "ConfigMap", Namespace: "a", Name: "applied"}}, s.Synced)
	require.Len(t, s.Inventory, 4)

	SetInventory(&s, nil)
	require.Equal(t, v1beta2.ManifestStatus{}, s)
}

func TestAManifestWithTheLargestInventoryFitsIntoEtcd(t *testing.T) {
	t.Parallel()
	const etcd = 1_572_864
	var inventory []v1beta2.InventoryEntry
	for i := 0; Bytes(inventory) <= MaxInventoryBytes; i++ {
		inventory = append(inventory, v1beta2.InventoryEntry{ID: fmt.Sprintf("rbac.authorization.k8s.io_RoleBinding_namespace-of-objects_object-%06d", i), Version: "v1"})
	}
	inventory = inventory[1:]
	require.Greater(t, len(inventory), 5000)
	for i := range inventory {
		inventory[i].UID, inventory[i].Hash = "01234567-0123-0123-0123-0123456789ab", "0123456789abcdef"
	}
	require.LessOrEqual(t, Bytes(inventory), MaxInventoryBytes, "the size includes what applying will add")
	m := &v1beta2.Manifest{}
	SetInventory(&m.Status, inventory)
	encoded, err := json.Marshal(m)
	require.NoError(t, err)
	t.Logf("a Manifest of %d objects has %d bytes", len(inventory), len(encoded))
	require.Less(t, len(encoded), etcd-128<<10, "there is room for the rest")
	require.NotEmpty(t, m.Status.Synced)
	require.Len(t, m.Status.Inventory, len(inventory))
}

func TestTheSizeOfAManifestIsKnownBeforeItsObjectsAreApplied(t *testing.T) {
	t.Parallel()
	for name, entry := range map[string]func(i int) v1beta2.InventoryEntry{
		"of a few kinds": func(i int) v1beta2.InventoryEntry {
			return v1beta2.InventoryEntry{ID: fmt.Sprintf("apps_Deployment_a_%06d", i), Version: "v1"}
		},
		"each of a kind of its own": func(i int) v1beta2.InventoryEntry {
			return v1beta2.InventoryEntry{ID: fmt.Sprintf("example.com_Kind%06d_a_b", i), Version: "v1"}
		},
	} {
		var inventory []v1beta2.InventoryEntry
		for i := range 4000 {
			inventory = append(inventory, entry(i))
		}
		m := &v1beta2.Manifest{ObjectMeta: metav1.ObjectMeta{Name: "m", Namespace: "ns"}}
		m.Spec.Resource = &runtime.RawExtension{Raw: []byte(`{"spec":"` + strings.Repeat("x", 256<<10) + `"}`)}
		before, err := ManifestBytes(m, inventory)
		require.NoError(t, err)
		require.Empty(t, m.Status, "the Manifest is not changed")
		for i := range inventory {
			inventory[i].UID, inventory[i].Hash = "01234567-0123-0123-0123-0123456789ab", "0123456789abcdef"
		}
		SetInventory(&m.Status, inventory)
		encoded, err := json.Marshal(m)
		require.NoError(t, err)
		require.GreaterOrEqual(t, before, len(encoded)-1024, name)
		require.Less(t, before, len(encoded)+len(encoded)/5, name)
	}
}

func TestTheRecordOfADefaultCRGetsTheVersionOfTheModule(t *testing.T) {
	t.Parallel()
	cr := func(apiVersion, kind string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	}
	recorded := &v1beta2.DefaultCRRecord{APIVersion: "example.com/v1alpha1", Kind: "Bump", Namespace: "ns", Name: "default", UID: "1"}
	moved := MovedOn(recorded, cr("example.com/v1beta1", "Bump"))
	require.Equal(t, &v1beta2.DefaultCRRecord{APIVersion: "example.com/v1beta1", Kind: "Bump", Namespace: "ns", Name: "default", UID: "1"}, moved)
	require.Equal(t, "example.com/v1alpha1", recorded.APIVersion, "the record that was passed in is not changed")
	require.Equal(t, recorded, MovedOn(recorded, cr("example.com/v1", "Other")))
	require.Equal(t, recorded, MovedOn(recorded, cr("other.com/v1", "Bump")))
	require.Equal(t, recorded, MovedOn(recorded, nil))
	require.Nil(t, MovedOn(nil, cr("example.com/v1beta1", "Bump")))
}
