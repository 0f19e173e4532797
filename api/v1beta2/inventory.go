package v1beta2

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// ErrInventoryID is wrapped by every error about an inventory id that cannot be
// built or parsed. An entry with an invalid id must never lead to a deletion.
var ErrInventoryID = errors.New("invalid inventory id")

// inventoryIDSeparator cannot occur in an API group, a kind or a namespace. A
// name may contain it, but the name comes last, so each id can be parsed in only
// one way.
const (
	inventoryIDSeparator = "_"
	inventoryIDParts     = 4
)

// InventoryEntry is one object that a Manifest owns in its target cluster. The
// JSON names are short because an inventory may have thousands of entries.
type InventoryEntry struct {
	// ID is <group>_<kind>_<namespace>_<name>. The group is empty for the core
	// group, the namespace for cluster-scoped objects.
	ID string `json:"id"`

	// Version of the API that was used to apply the object.
	Version string `json:"v"`

	// UID of the object. Empty before the object was applied.
	// +optional
	UID string `json:"u,omitempty"`

	// Hash of the fields that Lifecycle Manager owns in the object. Empty before
	// the object was applied.
	// +optional
	Hash string `json:"h,omitempty"`

	// Leaving is true after the module dropped the object. The entry stays until
	// the deletion of the object is confirmed. The health of a leaving object
	// does not count for the module.
	// +optional
	Leaving bool `json:"l,omitempty"`

	// Ran identifies the layers that a Job or a chart hook ran for. It runs once
	// for each set of layers, and its absence afterwards is not drift.
	// +optional
	Ran string `json:"r,omitempty"`
}

// NewInventoryEntry returns the entry for an object, without uid and hash. It
// returns an error that wraps ErrInventoryID if kind, version or name is empty,
// or if group, kind or namespace contains an underscore, which valid ones never
// do.
func NewInventoryEntry(gvk schema.GroupVersionKind, object types.NamespacedName) (InventoryEntry, error) {
	id, err := InventoryID(gvk.GroupKind(), object)
	if err != nil {
		return InventoryEntry{}, err
	}
	if gvk.Version == "" {
		return InventoryEntry{}, fmt.Errorf("%w: %s has no version", ErrInventoryID, id)
	}
	return InventoryEntry{ID: id, Version: gvk.Version}, nil
}

// InventoryID returns the id of an object. The id is the same for all API
// versions. See NewInventoryEntry for the errors.
func InventoryID(kind schema.GroupKind, object types.NamespacedName) (string, error) {
	if kind.Kind == "" || object.Name == "" {
		return "", fmt.Errorf("%w: an object needs a kind and a name, not %q and %q",
			ErrInventoryID, kind.Kind, object.Name)
	}
	for _, part := range []string{kind.Group, kind.Kind, object.Namespace} {
		if strings.Contains(part, inventoryIDSeparator) {
			return "", fmt.Errorf("%w: %q contains an underscore", ErrInventoryID, part)
		}
	}
	return strings.Join([]string{kind.Group, kind.Kind, object.Namespace, object.Name}, inventoryIDSeparator), nil
}

// Object returns the kind and the name of the entry's object. Its error wraps
// ErrInventoryID.
func (e InventoryEntry) Object() (schema.GroupVersionKind, types.NamespacedName, error) {
	parts := strings.SplitN(e.ID, inventoryIDSeparator, inventoryIDParts)
	if len(parts) != inventoryIDParts || parts[1] == "" || parts[3] == "" || e.Version == "" {
		return schema.GroupVersionKind{}, types.NamespacedName{},
			fmt.Errorf("%w: %q with version %q", ErrInventoryID, e.ID, e.Version)
	}
	gvk := schema.GroupVersionKind{Group: parts[0], Version: e.Version, Kind: parts[1]}
	return gvk, types.NamespacedName{Namespace: parts[2], Name: parts[3]}, nil
}
