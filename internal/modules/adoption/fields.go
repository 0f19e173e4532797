package adoption

import (
	"bytes"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
)

// formerManagers returns the field managers, other than our present one, under which releases of upstream wrote
// modules' objects. Fields that they own would stay forever, because none of our applies removes them.
func formerManagers() sets.Set[string] {
	return sets.New(shared.FieldManagerLifecycleManager, shared.OperatorGroup+"/"+shared.FieldManagerLifecycleManager)
}

// FieldsPatch returns a JSON patch that moves the ownership of fields of a live object. It changes no value in the
// object and applies only to this resource version. After the patch, our apply of body changes only what differs in
// the module:
//
//   - We own what former managers owned, so that an apply removes fields that the module no longer has.
//   - Nobody owns replicas that we leave to an autoscaler. If we owned the field, our apply would remove it and
//     scale the workload to one.
//   - In a Secret that we applied with stringData, we own the keys in data.
//
// FieldsPatch returns nil if no ownership has to move.
func FieldsPatch(live *metav1.PartialObjectMetadata, body []byte) ([]byte, error) {
	moved := live.DeepCopy()
	former := formerManagers()
	for i := range moved.ManagedFields {
		// These managers applied. UpgradeManagedFields merges only updates into our entry.
		if e := &moved.ManagedFields[i]; former.Has(e.Manager) && e.Subresource == "" {
			e.Operation = metav1.ManagedFieldsOperationUpdate
		}
	}
	if err := csaupgrade.UpgradeManagedFields(moved, former, shared.FieldManagerModuleResources); err != nil {
		return nil, fmt.Errorf("move the ownership of fields: %w", err)
	}
	own := inventory.OwnEntry(moved.ManagedFields)
	if err := releaseReplicas(own, body); err != nil {
		return nil, err
	}
	if err := ownData(own, body); err != nil {
		return nil, err
	}
	if same(live.ManagedFields, moved.ManagedFields) {
		return nil, nil
	}
	return json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/managedFields", "value": moved.ManagedFields},
		// If the object has another resource version by now, the API server refuses this operation as a conflict.
		{"op": "replace", "path": "/metadata/resourceVersion", "value": live.ResourceVersion},
	})
}

// releaseReplicas removes the number of replicas from the fields that we own if body does not set it.
func releaseReplicas(own *metav1.ManagedFieldsEntry, body []byte) error {
	if own == nil {
		return nil
	}
	owned := &fieldpath.Set{}
	if err := owned.FromJSON(own.FieldsV1.GetRawReader()); err != nil {
		return fmt.Errorf("decode the owned fields: %w", err)
	}
	replicas := fieldpath.MakePathOrDie(kinds.PathSpec, kinds.PathReplicas)
	if !owned.Has(replicas) {
		return nil
	}
	var content map[string]any
	if err := json.Unmarshal(body, &content); err != nil {
		return fmt.Errorf("decode the object: %w", err)
	}
	if _, applied, err := unstructured.NestedFieldNoCopy(content, kinds.PathSpec, kinds.PathReplicas); applied || err != nil {
		return err
	}
	encoded, err := owned.Difference(fieldpath.NewSet(replicas)).ToJSON()
	if err != nil {
		return fmt.Errorf("encode the owned fields: %w", err)
	}
	own.FieldsV1 = metav1.NewFieldsV1(string(encoded))
	return nil
}

// ownData replaces our ownership of the keys in a Secret's stringData by ownership of the same keys in data. The API
// server moved the values but not their ownership.
func ownData(own *metav1.ManagedFieldsEntry, body []byte) error {
	var kind metav1.TypeMeta
	if err := json.Unmarshal(body, &kind); err != nil {
		return fmt.Errorf("decode the kind of the object: %w", err)
	}
	if own == nil || kind != (metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}) {
		return nil
	}
	owned := &fieldpath.Set{}
	if err := owned.FromJSON(own.FieldsV1.GetRawReader()); err != nil {
		return fmt.Errorf("decode the owned fields: %w", err)
	}
	written, data := fieldpath.NewSet(), fieldpath.NewSet()
	for path := range owned.All() {
		if name := path[0].FieldName; name != nil && *name == stringData {
			written.Insert(path.Copy())
			data.Insert(append(fieldpath.MakePathOrDie("data"), path[1:].Copy()...))
		}
	}
	if written.Empty() {
		return nil
	}
	encoded, err := owned.Difference(written).Union(data).ToJSON()
	if err != nil {
		return fmt.Errorf("encode the owned fields: %w", err)
	}
	own.FieldsV1 = metav1.NewFieldsV1(string(encoded))
	return nil
}

// stringData is a write-only field of Secrets. The API server never stores it.
const stringData = "stringData"

// OwnsStringData reports whether we applied a Secret with stringData, as earlier releases did. FieldsPatch then moves
// our ownership to the keys in data. live may be nil.
func OwnsStringData(kind schema.GroupKind, live *metav1.PartialObjectMetadata) bool {
	if kind != (schema.GroupKind{Kind: "Secret"}) || live == nil {
		return false
	}
	own := inventory.OwnEntry(live.ManagedFields)
	return own != nil && own.FieldsV1 != nil && bytes.Contains(own.FieldsV1.GetRawBytes(), []byte(`"f:`+stringData+`":`))
}

func same(a, b []metav1.ManagedFieldsEntry) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Manager != b[i].Manager || a[i].Operation != b[i].Operation || a[i].FieldsV1 == nil || b[i].FieldsV1 == nil ||
			!bytes.Equal(a[i].FieldsV1.GetRawBytes(), b[i].FieldsV1.GetRawBytes()) {
			return false
		}
	}
	return true
}
