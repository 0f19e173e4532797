package apply

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/bundle"
)

// Server-side apply merges our fields with those of other managers. For some manual changes, the API server refuses
// the merged object as invalid, however often it is applied (observed on real API servers):
//
//   - Items in a list of ports are identified by number and protocol, not by name. If somebody changes a port's number, that port
//     becomes a second item, owned by them. Our port next to it has the same name, or the same host port.
//   - A PersistentVolumeClaim can grow but never shrink.
//   - Some fields exclude each other. The API server, or another manager, sets one that the module leaves out, and the new
//     rendering sets another one: see inTheWay.

// adaptation describes how to apply an object that the API server refused.
type adaptation struct {
	// body is the object to apply; nil if there is no alternative.
	body []byte
	// undo, if not nil, returns the ownership that was taken from other managers. It is called if the API server refuses
	// the body too.
	undo func(context.Context) error
}

// adaptToLive adapts an object to the live one after the API server refused the merge of both.
func adaptToLive(ctx context.Context, job *Installation, p bundle.Placed, body []byte, refusal error) (adaptation, error) {
	live, err := job.Cluster.Dynamic.Resource(p.Resource.GroupVersionResource).Namespace(p.Name.Namespace).Get(ctx, p.Name.Name, metav1.GetOptions{})
	if err != nil {
		return adaptation{}, client.IgnoreNotFound(fmt.Errorf("read %s: %w", p, err))
	}
	if !job.Owner.Owns(live) {
		return adaptation{}, nil
	}
	var wanted map[string]any
	if err := utiljson.Unmarshal(body, &wanted); err != nil {
		return adaptation{}, err
	}
	if p.Object.GVK.GroupKind() == (schema.GroupKind{Kind: "PersistentVolumeClaim"}) {
		if !leaveLarger(wanted, live.Object) {
			return adaptation{}, nil
		}
		adapted, err := json.Marshal(wanted)
		return adaptation{body: adapted}, err
	}
	taken, err := take(live, wanted, causesOf(refusal))
	if err != nil || taken == nil {
		return adaptation{}, err
	}
	adapted, err := json.Marshal(wanted)
	if err != nil {
		return adaptation{}, err
	}
	api := job.Cluster.Metadata.Resource(p.Resource.GroupVersionResource).Namespace(p.Name.Namespace)
	patch := func(ctx context.Context, resourceVersion string, managed []metav1.ManagedFieldsEntry) (*metav1.PartialObjectMetadata, error) {
		encoded, err := json.Marshal(map[string]any{kinds.PathMetadata: map[string]any{
			"uid": live.GetUID(), "resourceVersion": resourceVersion, "managedFields": managed,
		}})
		if err != nil {
			return nil, err
		}
		return api.Patch(ctx, p.Name.Name, types.MergePatchType, encoded, metav1.PatchOptions{FieldManager: shared.FieldManagerLifecycleManager})
	}
	now, err := patch(ctx, live.GetResourceVersion(), taken)
	if err != nil {
		return adaptation{}, fmt.Errorf("take ownership of the fields that conflict with %s: %w", p, err)
	}
	undo := func(ctx context.Context) error {
		_, err := patch(ctx, now.ResourceVersion, live.GetManagedFields())
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return nil // the object has changed since; the next reconcile reads it again
		}
		return err
	}
	return adaptation{body: adapted, undo: undo}, nil
}

// leaveLarger removes the size from a PersistentVolumeClaim if the live claim is larger. It reports whether it did.
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

// take returns the managed fields of an object after we took ownership of the fields that exclude the wanted object:
// ports that clash with ours, and the fields named by the causes of the refusal. The next apply then removes fields
// that we own but do not apply, and sets their replacement in the same step. So one of the two always exists, and a
// process that dies in between has changed no field. take returns nil if no field has to be taken. Fields that others
// own in another API version stay theirs.
func take(live *unstructured.Unstructured, wanted map[string]any, causes []metav1.StatusCause) ([]metav1.ManagedFieldsEntry, error) {
	managed := live.GetManagedFields()
	own := inventory.OwnEntry(managed)
	if own == nil {
		return nil, nil
	}
	taken := fieldpath.NewSet()
	var hindering []leftover
	if own.APIVersion == live.GetAPIVersion() {
		hindering = inTheWay(leftoversOf(live.Object, wanted, managed), causes, wanted)
	}
	for _, l := range hindering {
		taken.Insert(l.path)
	}
	kept := make([]metav1.ManagedFieldsEntry, 0, len(managed))
	for i := range managed {
		e := managed[i]
		if &managed[i] == own || e.APIVersion != own.APIVersion || e.Subresource != "" {
			kept = append(kept, e)
			continue
		}
		all := inventory.FieldsIn(&e)
		theirs := fieldpath.NewSet()
		for path := range all.All() {
			isWithin := func(l leftover) bool { return len(path) >= len(l.path) && path[:len(l.path)].Equals(l.path) }
			if slices.ContainsFunc(hindering, isWithin) || clashes(path, live.Object, wanted) {
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
			if err := setFields(&kept[i], inventory.FieldsIn(&kept[i]).Union(taken)); err != nil {
				return nil, err
			}
		}
	}
	return kept, nil
}

func setFields(e *metav1.ManagedFieldsEntry, fields *fieldpath.Set) error {
	var encoded bytes.Buffer
	if err := fields.ToJSONStream(&encoded); err != nil {
		return fmt.Errorf("encode the fields of a manager: %w", err)
	}
	e.FieldsV1 = metav1.NewFieldsV1(encoded.String())
	return nil
}

// clashes reports whether a field belongs to a port that is not wanted and cannot coexist with the wanted ports.
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
		unnamed := len(path[:i]) == 2 // the ports of a Service; only a single one needs no name
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

// fieldAt returns the value at a path in an object; nil if there is none.
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
		// In a path, all numbers are floats.
		if !value.Equals(value.NewValueInterface(has), field.Value) {
			return false
		}
	}
	return true
}
