package inventory

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// MaxInventoryBytes limits the inventory, maxSyncedBytes its copy for users in status.synced, and MaxManifestBytes the
// whole Manifest. With these limits a Manifest always fits into etcd, which takes 1.5 MiB
// (docs/design/install-and-drift.md#inventory). They leave 64 KiB for later changes: messages, conditions, corrections,
// managed fields.
const (
	MaxInventoryBytes = 1 << 20
	maxSyncedBytes    = 256 << 10
	MaxManifestBytes  = 1536<<10 - 64<<10
)

// Union returns the inventory to record before objects are applied: the old entries and the wanted ones, sorted by id.
// Known facts about an object stay. Objects that the module no longer has are marked as obsolete (Leaving).
func Union(old, wanted []v1beta2.InventoryEntry) []v1beta2.InventoryEntry {
	byID := lists.By(wanted, func(e v1beta2.InventoryEntry) string { return e.ID })
	for _, e := range old {
		w, both := byID[e.ID]
		if both {
			e.Version = w.Version
			if e.Leaving {
				// While the object was obsolete, another module may have become its owner, so forget what we know about
				// it.
				e.UID, e.Hash = "", ""
			}
		}
		e.Leaving = !both
		byID[e.ID] = e
	}
	return Sorted(byID)
}

// Obsolete returns the entries that are no longer wanted.
func Obsolete(old, wanted []v1beta2.InventoryEntry) []v1beta2.InventoryEntry {
	keep := lists.Set(wanted, func(e v1beta2.InventoryEntry) string { return e.ID })
	return lists.Filter(old, func(e v1beta2.InventoryEntry) bool { return !keep[e.ID] })
}

// Record returns the inventory with uid and hash of the applied objects, and without objects that are gone from the
// cluster.
func Record(
	inventory []v1beta2.InventoryEntry, applied map[string]v1beta2.InventoryEntry, gone map[string]bool,
) []v1beta2.InventoryEntry {
	byID := make(map[string]v1beta2.InventoryEntry, len(inventory))
	for _, e := range inventory {
		if gone[e.ID] {
			continue
		}
		if a, ok := applied[e.ID]; ok {
			e = a
		}
		byID[e.ID] = e
	}
	return Sorted(byID)
}

// Sorted returns the entries of an inventory, sorted by id.
func Sorted(byID map[string]v1beta2.InventoryEntry) []v1beta2.InventoryEntry {
	return slices.SortedFunc(maps.Values(byID), func(a, b v1beta2.InventoryEntry) int { return strings.Compare(a.ID, b.ID) })
}

// Count returns the number of objects that the module has, without obsolete ones.
func Count(inventory []v1beta2.InventoryEntry) int32 {
	total := int32(0)
	for _, e := range inventory {
		if !e.Leaving {
			total++
		}
	}
	return total
}

// Sizes of the fields that an entry gets when its object is applied.
const (
	uidBytes  = 36
	hashBytes = 16
)

// Bytes returns the approximate size of an inventory in etcd, after all of its objects are applied.
func Bytes(inventory []v1beta2.InventoryEntry) int {
	total := 0
	for _, e := range inventory {
		total += len(e.ID) + len(e.Version) + max(len(e.UID), uidBytes) + max(len(e.Hash), hashBytes) + len(e.Ran) +
			len(`{"id":"","v":"","u":"","h":"","l":true,"r":""},`)
	}
	return total
}

// ManifestBytes returns the approximate size of a Manifest in etcd with another inventory, after all of its objects are
// applied.
func ManifestBytes(m *v1beta2.Manifest, inventory []v1beta2.InventoryEntry) (int, error) {
	rest := *m
	rest.Status.Inventory, rest.Status.Synced, rest.Status.Kinds = nil, nil, kindsOf(inventory)
	encoded, err := json.Marshal(rest)
	if err != nil {
		return 0, fmt.Errorf("encode Manifest %s/%s: %w", m.Namespace, m.Name, err)
	}
	synced := 0
	for _, e := range inventory {
		synced += syncedBytes(e)
	}
	return len(encoded) + Bytes(inventory) + min(synced, maxSyncedBytes), nil
}

// SetInventory writes an inventory into a status, with all fields that are derived from it. Nothing else writes these
// fields.
func SetInventory(s *v1beta2.ManifestStatus, inventory []v1beta2.InventoryEntry) {
	s.Inventory = inventory
	s.Synced = syncedOf(inventory)
	s.Kinds = kindsOf(inventory)
	s.Fingerprint = Fingerprint(inventory)
}

// kindsOf returns the kinds of an inventory for `status.kinds`, sorted. It leaves out entries that cannot be read.
func kindsOf(inventory []v1beta2.InventoryEntry) []string {
	var all []string
	for _, e := range inventory {
		if gvk, _, err := e.Object(); err == nil {
			all = append(all, kinds.Text(gvk))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// syncedOf returns the applied objects of an inventory for `status.synced`. If a module has thousands of objects, it
// returns only as many as fit. It leaves out entries that cannot be read.
func syncedOf(inventory []v1beta2.InventoryEntry) []v1beta2.SyncedObject {
	var all []v1beta2.SyncedObject
	room := maxSyncedBytes
	for _, e := range inventory {
		gvk, name, err := e.Object()
		if err != nil || e.UID == "" {
			continue
		}
		room -= syncedBytes(e)
		if room < 0 {
			return all
		}
		all = append(all, v1beta2.SyncedObject{
			Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Namespace: name.Namespace, Name: name.Name,
		})
	}
	return all
}

// syncedBytes returns the approximate size of an entry in `status.synced`.
func syncedBytes(e v1beta2.InventoryEntry) int {
	return len(e.ID) + len(e.Version) + len(`{"group":"","version":"","kind":"","name":"","namespace":""},`)
}

// OfStage returns the entries of one stage. Entries that cannot be read belong to no stage, so nothing is removed for
// them.
func OfStage(entries []v1beta2.InventoryEntry, s kinds.Stage) []v1beta2.InventoryEntry {
	var all []v1beta2.InventoryEntry
	for _, e := range entries {
		if gvk, _, err := e.Object(); err == nil && kinds.StageOf(gvk.GroupKind()) == s {
			all = append(all, e)
		}
	}
	return all
}

// AppliedBefore returns by entry id whether the object has been applied before.
func AppliedBefore(inventory []v1beta2.InventoryEntry) map[string]bool {
	applied := make(map[string]bool, len(inventory))
	for _, e := range inventory {
		applied[e.ID] = e.UID != ""
	}
	return applied
}

// NeverApplied reports whether an inventory has objects and we applied none of them, because upstream installed them.
func NeverApplied(inventory []v1beta2.InventoryEntry) bool {
	return len(inventory) > 0 && !slices.ContainsFunc(inventory, func(e v1beta2.InventoryEntry) bool { return e.UID == "" || e.Hash != "" })
}
