package store

import (
	"fmt"
	"maps"
	"reflect"
	"time"
	"unique"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// split makes a record of an object, without its revision. The object is not changed.
func (s *Storage) split(key string, object runtime.Object) (*Record, error) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil, err
	}
	r := &Record{
		key: unique.Make(key), labels: newBlob(accessor.GetLabels()), annotations: newBlob(accessor.GetAnnotations()),
		created: seconds(accessor.GetCreationTimestamp()),
	}
	if text := accessor.GetUID(); text != "" {
		uid, err := uuid.Parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("the uid of %s: %w", key, err)
		}
		r.uid = uid
	}
	deleted, owners := accessor.GetDeletionTimestamp(), accessor.GetOwnerReferences()
	if deleted != nil || len(owners) > 0 {
		r.rare = &rare{owners: owners, grace: accessor.GetDeletionGracePeriodSeconds()}
		if deleted != nil {
			r.rare.deleted = seconds(*deleted)
		}
	}
	var stripped runtime.Object
	if u, ok := object.(*unstructured.Unstructured); ok {
		stripped, r.times = stripMap(u)
	} else {
		stripped, r.times, err = stripStruct(object)
	}
	if err != nil {
		return nil, err
	}
	data, err := runtime.Encode(s.codec, stripped)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", key, err)
	}
	r.body = unique.Make(string(data))
	return r, nil
}

// stripStruct returns a shallow copy of an object of a Go type without what differs from cluster to cluster.
func stripStruct(object runtime.Object) (runtime.Object, []int64, error) {
	copied, err := shallow(object)
	if err != nil {
		return nil, nil, err
	}
	accessor, err := meta.Accessor(copied)
	if err != nil {
		return nil, nil, err
	}
	accessor.SetUID("")
	accessor.SetLabels(nil)
	accessor.SetAnnotations(nil)
	accessor.SetCreationTimestamp(metav1.Time{})
	accessor.SetDeletionTimestamp(nil)
	accessor.SetDeletionGracePeriodSeconds(nil)
	accessor.SetOwnerReferences(nil)
	managed := accessor.GetManagedFields()
	if len(managed) == 0 {
		return copied, nil, nil
	}
	times := make([]int64, len(managed))
	timeless := make([]metav1.ManagedFieldsEntry, len(managed))
	for i, entry := range managed {
		if entry.Time != nil {
			times[i] = seconds(*entry.Time)
		}
		entry.Time = nil
		timeless[i] = entry
	}
	accessor.SetManagedFields(timeless)
	return copied, times, nil
}

// shallow returns a copy of an object that shares all its parts.
func shallow(object runtime.Object) (runtime.Object, error) {
	v := reflect.ValueOf(object)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return nil, fmt.Errorf("a %T cannot be stored", object)
	}
	copied := reflect.New(v.Type().Elem())
	copied.Elem().Set(v.Elem())
	result, _ := copied.Interface().(runtime.Object)
	return result, nil
}

// varying are the fields of the metadata that are not in a body.
func varying() []string {
	return []string{"uid", "labels", "annotations", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences"}
}

// stripMap is stripStruct for custom resources.
func stripMap(u *unstructured.Unstructured) (runtime.Object, []int64) {
	content := maps.Clone(u.Object)
	metadata, _ := content["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	content["metadata"] = metadata
	for _, field := range varying() {
		delete(metadata, field)
	}
	managed, _ := metadata["managedFields"].([]any)
	if len(managed) == 0 {
		return &unstructured.Unstructured{Object: content}, nil
	}
	times := make([]int64, len(managed))
	timeless := make([]any, len(managed))
	for i := range managed {
		entry, _ := managed[i].(map[string]any)
		entry = maps.Clone(entry)
		if text, ok := entry["time"].(string); ok {
			if t, err := time.Parse(time.RFC3339, text); err == nil {
				times[i] = t.Unix()
			}
			delete(entry, "time")
		}
		timeless[i] = entry
	}
	metadata["managedFields"] = timeless
	return &unstructured.Unstructured{Object: content}, times
}
