package v1beta2

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// ErrInventoryID is wrapped by every error about an inventory id that cannot be
// built or read. Such an entry must never lead to a deletion.
var ErrInventoryID = errors.New("invalid inventory id")

// inventoryIDSeparator cannot occur in an API group, a kind or a namespace, and
// the name, where it can, comes last: so an id is read in one way only.
const (
	inventoryIDSeparator = "_"
	inventoryIDParts     = 4
)

// InventoryEntry is one object that a Manifest owns in the cluster it is
// installed in. Its JSON names are short, for there may be thousands.
type InventoryEntry struct {
	// ID is <group>_<kind>_<namespace>_<name>; group and namespace may be empty.
	ID string `json:"id"`

	// Version of the API that the object was applied with.
	Version string `json:"v"`

	// UID of the object, once it was applied.
	// +optional
	UID string `json:"u,omitempty"`

	// Hash of the fields that we own of the object, once it was applied.
	// +optional
	Hash string `json:"h,omitempty"`

	// Leaving is true when the module no longer has the object, which stays
	// here until it is positively gone. Its health says nothing of the module.
	// +optional
	Leaving bool `json:"l,omitempty"`

	// Ran identifies the layers that a Job or a chart's hook ran for: it runs
	// once for each, and its absence afterwards is no drift.
	// +optional
	Ran string `json:"r,omitempty"`
}

// NewInventoryEntry returns the entry for an object, without uid and hash. The
// error wraps ErrInventoryID: kind, version and name must not be empty, and
// group, kind and namespace must not contain an underscore (no valid one does).
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

// InventoryID returns the id of an object, whatever its version; see
// NewInventoryEntry for the errors.
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

// Object returns what the entry refers to. The error wraps ErrInventoryID.
func (e InventoryEntry) Object() (schema.GroupVersionKind, types.NamespacedName, error) {
	parts := strings.SplitN(e.ID, inventoryIDSeparator, inventoryIDParts)
	if len(parts) != inventoryIDParts || parts[1] == "" || parts[3] == "" || e.Version == "" {
		return schema.GroupVersionKind{}, types.NamespacedName{},
			fmt.Errorf("%w: %q with version %q", ErrInventoryID, e.ID, e.Version)
	}
	gvk := schema.GroupVersionKind{Group: parts[0], Version: e.Version, Kind: parts[1]}
	return gvk, types.NamespacedName{Namespace: parts[2], Name: parts[3]}, nil
}
