// Package forecast predicts what would change for a fleet if some objects were applied. It plans for every Kyma twice,
// with the present catalog and with the changed one, using the functions that plan in production. Nothing is written.
//
//	found, err := forecast.Make(ctx, forecast.Options{Present: present, Applied: applied, ...})
//	err = found.WriteText(os.Stdout)
//
// Read lists the present objects, and Decode parses files. One file per subject:
//
//	snapshot.go  objects in memory, with the interface of a cache
//	read.go      reads the present objects with one LIST per kind, and parses files
//	compare.go   compares the modules of a Kyma before and after
//	rollouts.go  the stages that a version would go through
//	objects.go   the objects and fields that change with the modules
//	budget.go    whether Kymas that refuse a version would hold its rollout
//	report.go    the output for people and programs
//	command.go   the command lifecycle-manager plan; it finds its files with files.go
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

// Snapshot holds objects in memory. It is read like a cache, by name and by registered indexes. Indexes are computed
// when objects are added, so register them first. Objects in returned lists are shared and must not be modified.
type Snapshot struct {
	indexers map[string]map[string]client.IndexerFunc
	objects  map[string]map[types.NamespacedName]client.Object
	indexed  map[string]map[string]map[string][]types.NamespacedName
}

var (
	_ client.Reader       = &Snapshot{}
	_ client.FieldIndexer = &Snapshot{}
)

// NewSnapshot returns an empty Snapshot.
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

// Put adds an object, or replaces the object of the same name.
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

// List implements client.Reader. It supports a namespace, labels, and one index.
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

// kindOf returns the kind of an object or list. For metadata-only objects, it returns the kind that they carry.
func kindOf(object runtime.Object) string {
	switch object.(type) {
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		return object.GetObjectKind().GroupVersionKind().Kind
	}
	return reflect.TypeOf(object).Elem().Name()
}
