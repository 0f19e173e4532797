package store

import (
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"time"
	"unique"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// decodedKey names a decoded body. Storages differ in the version that they decode to.
type decodedKey struct {
	storage *Storage
	body    unique.Handle[string]
}

// decoded returns the object of a body, which is shared and must not be changed.
func (s *Storage) decoded(body unique.Handle[string]) (runtime.Object, error) {
	key := decodedKey{s, body}
	if known, ok := s.decodedBodies.Get(key); ok {
		object, _ := known.(runtime.Object)
		return object, nil
	}
	object, _, err := s.codec.Decode([]byte(body.Value()), nil, s.newFunc())
	if err != nil {
		return nil, fmt.Errorf("decode what is stored: %w", err)
	}
	s.decodedBodies.Add(key, object)
	return object, nil
}

// restore returns the object of a record with the given revision. It shares all but its metadata with others: as with
// the objects of a real server's watch cache, nobody may change what they refer to.
func (s *Storage) restore(r *Record, revision uint64) (runtime.Object, error) {
	object, err := s.decoded(r.body)
	if err != nil {
		return nil, err
	}
	if u, ok := object.(*unstructured.Unstructured); ok {
		return r.fillMap(u, revision), nil
	}
	copied, err := shallow(object)
	if err != nil {
		return nil, err
	}
	accessor, err := meta.Accessor(copied)
	if err != nil {
		return nil, err
	}
	accessor.SetUID(r.UID())
	accessor.SetResourceVersion(strconv.FormatUint(revision, 10))
	accessor.SetCreationTimestamp(timeOf(r.created))
	if r.labels != (blob{}) {
		accessor.SetLabels(decodeBlob(r.labels))
	}
	// Else decoding may have set some by default, as for Jobs.
	accessor.SetAnnotations(decodeBlob(r.annotations))
	if r.rare != nil {
		accessor.SetOwnerReferences(r.rare.owners)
		accessor.SetDeletionGracePeriodSeconds(r.rare.grace)
		if r.rare.deleted != 0 {
			t := timeOf(r.rare.deleted)
			accessor.SetDeletionTimestamp(&t)
		}
	}
	if len(r.times) > 0 {
		managed := append([]metav1.ManagedFieldsEntry(nil), accessor.GetManagedFields()...)
		for i := range managed {
			if i < len(r.times) && r.times[i] != 0 {
				t := timeOf(r.times[i])
				managed[i].Time = &t
			}
		}
		accessor.SetManagedFields(managed)
	}
	return copied, nil
}

// fillMap is restore for custom resources.
func (r *Record) fillMap(u *unstructured.Unstructured, revision uint64) runtime.Object {
	content := maps.Clone(u.Object)
	metadata, _ := content["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	content["metadata"] = metadata
	metadata["uid"] = string(r.UID())
	metadata["resourceVersion"] = strconv.FormatUint(revision, 10)
	metadata["creationTimestamp"] = text(r.created)
	if labels := decodeBlob(r.labels); labels != nil {
		metadata["labels"] = anyMap(labels)
	}
	if annotations := decodeBlob(r.annotations); annotations != nil {
		metadata["annotations"] = anyMap(annotations)
	}
	filled := &unstructured.Unstructured{Object: content}
	if r.rare != nil {
		if len(r.rare.owners) > 0 {
			filled.SetOwnerReferences(r.rare.owners)
		}
		if r.rare.grace != nil {
			metadata["deletionGracePeriodSeconds"] = *r.rare.grace
		}
		if r.rare.deleted != 0 {
			metadata["deletionTimestamp"] = text(r.rare.deleted)
		}
	}
	managed, _ := metadata["managedFields"].([]any)
	if len(managed) == 0 {
		return filled
	}
	timed := make([]any, len(managed))
	for i := range managed {
		entry, _ := managed[i].(map[string]any)
		if i < len(r.times) && r.times[i] != 0 {
			entry = maps.Clone(entry)
			entry["time"] = text(r.times[i])
		}
		timed[i] = entry
	}
	metadata["managedFields"] = timed
	return filled
}

func text(s int64) string { return time.Unix(s, 0).UTC().Format(time.RFC3339) }

func anyMap(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

// restoreInto sets what out points to.
func (s *Storage) restoreInto(r *Record, revision uint64, out runtime.Object) error {
	object, err := s.restore(r, revision)
	if err != nil {
		return err
	}
	if u, ok := out.(*unstructured.Unstructured); ok {
		from, ok := object.(*unstructured.Unstructured)
		if !ok {
			return fmt.Errorf("a %T is not unstructured", object)
		}
		u.Object = from.Object
		return nil
	}
	to, from := reflect.ValueOf(out).Elem(), reflect.ValueOf(object).Elem()
	if to.Type() != from.Type() {
		return fmt.Errorf("a %T is not a %T", object, out)
	}
	to.Set(from)
	return nil
}
