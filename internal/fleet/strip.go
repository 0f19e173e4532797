package fleet

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sort"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
	"github.com/kyma-project/lifecycle-manager/internal/platform/spread"
)

// Strip removes the fields from an informer's object that no code reads there. It replaces a Manifest's inventory with
// hashes of its objects, eight bytes each (Claims); the result is empty only if the inventory is. It keeps the
// inventory of a RemoteAgent, which has a dozen objects, because the sweep compares a part of it in each pass
// (Inventory).
func Strip(received any) (any, error) {
	if object, ok := received.(client.Object); ok {
		object.SetManagedFields(nil)
	}
	switch m := received.(type) {
	case *v1beta2.Manifest:
		m.Status.Synced, m.Status.Inventory = nil, stripped(m.Status.Inventory)
	case *v1beta2.RemoteAgent:
		m.Status.Synced = nil
	}
	return received, nil
}

// digestBytes is the size of the hash of an object in an inventory.
const digestBytes = 8

func stripped(inventory []v1beta2.InventoryEntry) []v1beta2.InventoryEntry {
	if len(inventory) == 0 || isStripped(inventory) {
		return inventory
	}
	digests := lists.Map(inventory, func(entry v1beta2.InventoryEntry) uint64 { return spread.Hash(entry.ID) })
	slices.Sort(digests)
	packed := make([]byte, 0, 1+digestBytes*len(digests))
	packed = append(packed, mark)
	for _, digest := range digests {
		packed = binary.BigEndian.AppendUint64(packed, digest)
	}
	return []v1beta2.InventoryEntry{{ID: string(packed)}}
}

// Inventory returns the inventory of a Manifest. It returns false if the inventory is empty, or an informer has
// stripped it.
func Inventory(m *v1beta2.Manifest) ([]v1beta2.InventoryEntry, bool) {
	return m.Status.Inventory, len(m.Status.Inventory) > 0 && !isStripped(m.Status.Inventory)
}

// mark is the first byte of a stripped inventory. No inventory id begins with it.
const mark = 0

func isStripped(inventory []v1beta2.InventoryEntry) bool {
	return len(inventory) == 1 && inventory[0].ID != "" && inventory[0].ID[0] == mark
}

// Claims reports whether a Manifest's inventory may contain one of these inventory ids. The inventory may be stripped,
// so verify a positive answer with a live read.
func Claims(m *v1beta2.Manifest, ids map[string]bool) bool {
	if !isStripped(m.Status.Inventory) {
		return slices.ContainsFunc(m.Status.Inventory, func(e v1beta2.InventoryEntry) bool { return ids[e.ID] })
	}
	packed := []byte(m.Status.Inventory[0].ID[1:])
	for id := range ids {
		if has(packed, spread.Hash(id)) {
			return true
		}
	}
	return false
}

func has(packed []byte, digest uint64) bool {
	wanted := binary.BigEndian.AppendUint64(nil, digest)
	at := func(i int) []byte { return packed[i*digestBytes : (i+1)*digestBytes] }
	i := sort.Search(len(packed)/digestBytes, func(i int) bool { return bytes.Compare(at(i), wanted) >= 0 })
	return i < len(packed)/digestBytes && bytes.Equal(at(i), wanted)
}
