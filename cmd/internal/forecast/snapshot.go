// Package forecast says what would change for a fleet if some objects were applied: it plans for every Kyma twice, with the
// catalog as it is and as it would be, by the functions that plan for real.
//
//	snapshot.go  objects in memory, read as a cache is
//	read.go      one LIST per kind, and what files say
//	compare.go   what a Kyma would have before and after
//	rollouts.go  through which stages a version would go
//	objects.go   which objects and fields change with the modules
//	budget.go    whether a rollout would be held by those who refuse its version
//	report.go    the answer, for people and programs
//	command.go   lifecycle-manager plan, which reads files.go
package forecast

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Snapshot has objects in memory. It is read as a cache is, by name and by the indexes that were registered: those are
// computed when objects are added, so register them before. What it returns is shared and must not be changed.
type Snapshot struct {
	indexers map[string]map[string]client.IndexerFunc
	objects  map[string]map[types.NamespacedName]client.Object
	indexed  map[string]map[string]map[string][]types.NamespacedName
}

var (
	_ client.Reader       = &Snapshot{}
	_ client.FieldIndexer = &Snapshot{}
)

// NewSnapshot returns an empty one.
func NewSnapshot() *Snapshot {
	return &Snapshot{
		indexers: map[string]map[string]client.IndexerFunc{},
		objects:  map[string]map[types.NamespacedName]client.Object{},
		indexed:  map[string]map[string]map[string][]types.NamespacedName{},
	}
}

// IndexField implements client.FieldIndexer.
func (s *Snapshot) IndexField(_ context.Context, object client.Object, field string, extract client.IndexerFunc) error {
	kind := kindOf(object)
	if s.indexers[kind] == nil {
		s.indexers[kind] = map[string]client.IndexerFunc{}
	}
	s.indexers[kind][field] = extract
	return nil
}

// Put adds an object, or replaces the one of its name.
func (s *Snapshot) Put(object client.Object) {
	kind, key := kindOf(object), client.ObjectKeyFromObject(object)
	s.drop(kind, key)
	if s.objects[kind] == nil {
		s.objects[kind] = map[types.NamespacedName]client.Object{}
	}
	s.objects[kind][key] = object
	for field, extract := range s.indexers[kind] {
		for _, value := range extract(object) {
			values := s.valuesOf(kind, field)
			values[value] = append(values[value], key)
		}
	}
}

func (s *Snapshot) drop(kind string, key types.NamespacedName) {
	old, known := s.objects[kind][key]
	if !known {
		return
	}
	for field, extract := range s.indexers[kind] {
		for _, value := range extract(old) {
			values := s.valuesOf(kind, field)
			values[value] = slices.DeleteFunc(values[value], func(other types.NamespacedName) bool { return other == key })
		}
	}
	delete(s.objects[kind], key)
}

func (s *Snapshot) valuesOf(kind, field string) map[string][]types.NamespacedName {
	if s.indexed[kind] == nil {
		s.indexed[kind] = map[string]map[string][]types.NamespacedName{}
	}
	if s.indexed[kind][field] == nil {
		s.indexed[kind][field] = map[string][]types.NamespacedName{}
	}
	return s.indexed[kind][field]
}

// Get implements client.Reader.
func (s *Snapshot) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	found, known := s.objects[kindOf(into)][key]
	if !known {
		return apierrors.NewNotFound(schema.GroupResource{Resource: kindOf(into)}, key.String())
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(found.DeepCopyObject()).Elem())
	return nil
}

// List implements client.Reader, for a namespace, labels, and one index.
func (s *Snapshot) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	o := client.ListOptions{}
	o.ApplyOptions(options)
	kind := strings.TrimSuffix(kindOf(list), "List")
	keys := slices.Collect(maps.Keys(s.objects[kind]))
	if o.FieldSelector != nil && !o.FieldSelector.Empty() {
		requirements := o.FieldSelector.Requirements()
		if len(requirements) != 1 || s.indexers[kind][requirements[0].Field] == nil {
			return fmt.Errorf("list %s by %s: there is no such index", kind, o.FieldSelector)
		}
		keys = slices.Clone(s.indexed[kind][requirements[0].Field][requirements[0].Value])
	}
	slices.SortFunc(keys, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	var found []runtime.Object
	for _, key := range keys {
		object := s.objects[kind][key]
		if o.Namespace != "" && key.Namespace != o.Namespace || o.LabelSelector != nil && !o.LabelSelector.Matches(labels.Set(object.GetLabels())) {
			continue
		}
		found = append(found, object)
	}
	return meta.SetList(list, found)
}

// kindOf names the kind of an object or list; of what only the metadata is held, that which it says itself.
func kindOf(object runtime.Object) string {
	switch object.(type) {
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		return object.GetObjectKind().GroupVersionKind().Kind
	}
	return reflect.TypeOf(object).Elem().Name()
}
