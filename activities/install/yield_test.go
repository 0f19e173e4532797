package install

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

func TestWhoOwnsAnObjectOfTwoModules(t *testing.T) {
	const id = "_ConfigMap_a_b"
	at := func(name string, age time.Duration, entries ...v1beta2.InventoryEntry) *v1beta2.Manifest {
		m := &v1beta2.Manifest{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(time.Unix(10_000, 0).Add(-age))}}
		m.Status.Inventory = entries
		return m
	}
	recorded, applied := v1beta2.InventoryEntry{ID: id, Version: "v1"}, v1beta2.InventoryEntry{ID: id, Version: "v1", UID: "1"}
	obsolete := v1beta2.InventoryEntry{ID: id, Version: "v1", UID: "1", Leaving: true}
	require.Empty(t, ownershipOf([]*v1beta2.Manifest{at("a", 0, obsolete)}), "what a module no longer has is free")
	older, younger := at("b", time.Hour, recorded), at("a", time.Minute, recorded)
	require.Equal(t, "b", ownershipOf([]*v1beta2.Manifest{younger, older})[id].by.Name, "the older one owns it")
	require.Equal(t, "a", ownershipOf([]*v1beta2.Manifest{older, at("a", 0, applied)})[id].by.Name, "unless the other has applied it")
	require.True(t, precedes(older, younger))
	require.True(t, precedes(at("a", 0), at("b", 0)), "of one age, the name decides")
}
