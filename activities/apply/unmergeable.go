package apply

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/kyma-project/lifecycle-manager/activities/bundle"
	"github.com/kyma-project/lifecycle-manager/activities/drift"
	"github.com/kyma-project/lifecycle-manager/activities/inventory"
	"github.com/kyma-project/lifecycle-manager/activities/kinds"
	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// Server-side apply puts our fields beside those of others. For two kinds of changes that people make, the result is
// refused as invalid, however often it is applied (observed on a real API server):
//
//   - The items of a list of ports are identified by number and protocol, not by name. A port that was given another
//     number is another item, which is theirs; ours beside it has the same name, or the same port of the host.
//   - A PersistentVolumeClaim grows and never shrinks.

// adaptToLive adapts an object that is applied to the live one, after the API server refused the merge of both. It
// returns what is to be applied instead, or nil where there is no such body.
func adaptToLive(ctx context.Context, job *Installation, p bundle.Placed, body []byte) ([]byte, error) {
	live, err := job.Cluster.Dynamic.Resource(p.Resource.GroupVersionResource).Namespace(p.Name.Namespace).Get(ctx, p.Name.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", p, err)
	}
	if !job.Owner.Owns(live) {
		return nil, nil
	}
	var wanted map[string]any
	if err := utiljson.Unmarshal(body, &wanted); err != nil {
		return nil, err
	}
	if p.Object.GVK.GroupKind() == (schema.GroupKind{Kind: "PersistentVolumeClaim"}) {
		if !leaveLarger(wanted, live.Object) {
			return nil, nil
		}
		return json.Marshal(wanted)
	}
	patch, err := takeClashing(live, wanted)
	if err != nil || patch == nil {
		return nil, err
	}
	_, err = job.Cluster.Metadata.Resource(p.Resource.GroupVersionResource).Namespace(p.Name.Namespace).
		Patch(ctx, p.Name.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: shared.FieldManagerLifecycleManager})
	if err != nil {
		return nil, fmt.Errorf("take over what clashes with %s: %w", p, err)
	}
	return body, nil
}

// leaveLarger removes the size from a PersistentVolumeClaim where the live one is larger. It tells whether it did.
func leaveLarger(wanted, live map[string]any) bool {
	path := []string{kinds.PathSpec, "resources", "requests", "storage"}
	size := func(claim map[string]any) (resource.Quantity, bool) {
		text, found, err := unstructured.NestedString(claim, path...)
		if err != nil || !found {
			return resource.Quantity{}, false
		}
		q, err := resource.ParseQuantity(text)
		return q, err == nil
	}
	ours, asked := size(wanted)
	theirs, there := size(live)
	if !asked || !there || theirs.Cmp(ours) <= 0 {
		return false
	}
	unstructured.RemoveNestedField(wanted, path...)
	return true
}

// takeClashing is the patch of the managed fields that gives us the fields of others in ports that clash with those
// that we are about to apply. Fields that we own and do not apply are removed, in one step with what is applied: so
// there is always one of the two. It is nil where nothing clashes.
func takeClashing(live *unstructured.Unstructured, wanted map[string]any) ([]byte, error) {
	managed := live.GetManagedFields()
	own := inventory.OwnEntry(managed)
	if own == nil {
		return nil, nil
	}
	taken := fieldpath.NewSet()
	kept := make([]metav1.ManagedFieldsEntry, 0, len(managed))
	for i := range managed {
		e := managed[i]
		if &managed[i] == own || e.APIVersion != own.APIVersion || e.Subresource != "" {
			kept = append(kept, e)
			continue
		}
		all := drift.FieldsIn(&e)
		theirs := fieldpath.NewSet()
		for path := range all.All() {
			if clashes(path, live.Object, wanted) {
				theirs.Insert(path.Copy())
			}
		}
		if theirs.Empty() {
			kept = append(kept, e)
			continue
		}
		taken = taken.Union(theirs)
		if rest := all.Difference(theirs); !rest.Empty() {
			if err := setFields(&e, rest); err != nil {
				return nil, err
			}
			kept = append(kept, e)
		}
	}
	if taken.Empty() {
		return nil, nil
	}
	for i := range kept {
		if inventory.OwnEntry(kept[i:i+1]) != nil {
			if err := setFields(&kept[i], drift.FieldsIn(&kept[i]).Union(taken)); err != nil {
				return nil, err
			}
		}
	}
	return json.Marshal(map[string]any{kinds.PathMetadata: map[string]any{
		"uid": live.GetUID(), "resourceVersion": live.GetResourceVersion(), "managedFields": kept,
	}})
}

func setFields(e *metav1.ManagedFieldsEntry, fields *fieldpath.Set) error {
	var encoded bytes.Buffer
	if err := fields.ToJSONStream(&encoded); err != nil {
		return fmt.Errorf("encode the fields of a manager: %w", err)
	}
	e.FieldsV1 = metav1.NewFieldsV1(encoded.String())
	return nil
}

// clashes tells whether a field belongs to a port that is not among the wanted ones, and cannot exist beside them.
func clashes(path fieldpath.Path, live, wanted map[string]any) bool {
	for i := 1; i < len(path); i++ {
		if path[i].Key == nil || path[i-1].FieldName == nil || *path[i-1].FieldName != "ports" {
			continue
		}
		ours, _ := fieldAt(wanted, path[:i]).([]any)
		theirs, _ := fieldAt(live, path[:i+1]).(map[string]any)
		if theirs == nil || fieldAt(wanted, path[:i+1]) != nil {
			return false
		}
		unnamed := len(path[:i]) == 2 // those of a Service, of which only a single one needs no name
		for _, item := range ours {
			port, _ := item.(map[string]any)
			if port["name"] == theirs["name"] && (unnamed || port["name"] != nil) ||
				port["hostPort"] != nil && port["hostPort"] == theirs["hostPort"] ||
				port["nodePort"] != nil && port["nodePort"] == theirs["nodePort"] {
				return true
			}
		}
		return false
	}
	return false
}

// fieldAt is the value at a path in an object; nil where there is none.
func fieldAt(object any, path fieldpath.Path) any {
	for _, element := range path {
		switch {
		case element.FieldName != nil:
			fields, _ := object.(map[string]any)
			object = fields[*element.FieldName]
		case element.Key != nil:
			items, _ := object.([]any)
			object = nil
			for _, item := range items {
				if fields, _ := item.(map[string]any); fields != nil && hasKey(fields, element) {
					object = fields
				}
			}
		default:
			return nil
		}
		if object == nil {
			return nil
		}
	}
	return object
}

func hasKey(item map[string]any, element fieldpath.PathElement) bool {
	for _, field := range *element.Key {
		has, set := item[field.Name]
		if !set && field.Name == "protocol" {
			has = "TCP" // the default in all lists of ports
		}
		// In a path, all numbers are floating.
		if !value.Equals(value.NewValueInterface(has), field.Value) {
			return false
		}
	}
	return true
}
