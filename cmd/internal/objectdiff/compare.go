// Package objectdiff compares the objects and fields of two versions of a module. It also finds changes of the module's
// CustomResourceDefinitions that could lose data. Compare is the entry point.
//
//	compare.go      added, removed and changed objects
//	fields.go       changed fields of an object
//	definitions.go  risks of a changed definition for existing objects
//	text.go         the result as text
package objectdiff

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
)

// Kind is what would happen to an object.
type Kind string

// Kinds of changes.
const (
	Added   Kind = "added"
	Removed Kind = "removed"
	Changed Kind = "changed"
)

// Change is what would happen to one object.
type Change struct {
	// Object is the group, kind, namespace and name of the object, such as "apps/Deployment kyma-system/operator".
	Object string `json:"object"`
	Kind   Kind   `json:"change"`
	// Fields holds the first changed fields, and More is the number of further ones.
	Fields []Field `json:"fields,omitempty"`
	More   int     `json:"more,omitempty"`
	// Risks are the risks of a changed definition for existing objects.
	Risks []Risk `json:"risks,omitempty"`
}

// fieldsAtMost is how many fields of an object are named.
const fieldsAtMost = 20

// identity identifies an object in both versions.
type identity struct {
	kind            schema.GroupKind
	namespace, name string
}

func (i identity) String() string {
	kind, name := i.kind.Kind, i.name
	if i.kind.Group != "" {
		kind = i.kind.Group + "/" + kind
	}
	if i.namespace != "" {
		name = i.namespace + "/" + name
	}
	return kind + " " + name
}

// Compare returns the changes from one version's objects to the other's, ordered by kind and name. Objects are the same
// if group, kind, namespace and name are equal. A different API version is a changed field.
func Compare(before, after []*unstructured.Unstructured) ([]Change, error) {
	old, present := byIdentity(before), byIdentity(after)
	all := maps.Clone(old)
	maps.Copy(all, present)
	order := slices.SortedFunc(maps.Keys(all), func(a, b identity) int {
		return cmp.Or(cmp.Compare(a.kind.Group, b.kind.Group), cmp.Compare(a.kind.Kind, b.kind.Kind),
			cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
	var changes []Change
	for _, id := range order {
		change, err := compareOne(id, old[id], present[id])
		if err != nil {
			return nil, fmt.Errorf("compare %s: %w", id, err)
		}
		if change != nil {
			changes = append(changes, *change)
		}
	}
	return changes, nil
}

func byIdentity(objects []*unstructured.Unstructured) map[identity]*unstructured.Unstructured {
	all := make(map[identity]*unstructured.Unstructured, len(objects))
	for _, u := range objects {
		all[identity{u.GroupVersionKind().GroupKind(), u.GetNamespace(), u.GetName()}] = u
	}
	return all
}

// compareOne returns nil if nothing changes.
func compareOne(id identity, before, after *unstructured.Unstructured) (*Change, error) {
	change := &Change{Object: id.String(), Kind: Changed}
	switch {
	case before == nil:
		change.Kind = Added
	case after == nil:
		change.Kind = Removed
	default:
		fields, err := fieldsOf(before.Object, after.Object)
		if err != nil {
			return nil, err
		}
		if len(fields) == 0 {
			return nil, nil //nolint:nilnil // it is common that there is none
		}
		if id.kind == secretKind() {
			fields = withoutValues(fields)
		}
		change.Fields = fields[:min(len(fields), fieldsAtMost)]
		change.More = len(fields) - len(change.Fields)
	}
	if id.kind == kinds.DefinitionKind() && before != nil {
		change.Risks = risksOf(before, after)
	}
	return change, nil
}
