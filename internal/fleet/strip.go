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

// Strip takes out of what an informer received what nobody reads there. Of a Manifest's inventory it keeps which objects
// are in it, in eight bytes each (Claims); it is empty only where the inventory is. The inventory of a RemoteAgent is kept,
// for the sweep compares a part of it in each pass (Inventory): it has a dozen objects.
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

// digestBytes is the size of what is kept of one object of an inventory.
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

// Inventory is that of a Manifest that an informer may have stripped; false where it is not known any more, or empty.
func Inventory(m *v1beta2.Manifest) ([]v1beta2.InventoryEntry, bool) {
	return m.Status.Inventory, len(m.Status.Inventory) > 0 && !isStripped(m.Status.Inventory)
}

// mark is the first byte of what remains of an inventory. No inventory id has it.
const mark = 0

func isStripped(inventory []v1beta2.InventoryEntry) bool {
	return len(inventory) == 1 && inventory[0].ID != "" && inventory[0].ID[0] == mark
}

// Claims tells whether one of these objects, by inventory id, may be in a Manifest's inventory, of which only Strip's rest
// may be left: a yes is to be made sure of by a live read.
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
