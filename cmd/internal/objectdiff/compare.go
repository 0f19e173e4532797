// Package objectdiff says by which objects and fields two versions of a module differ, and which changes of its
// CustomResourceDefinitions could lose data.
//
//	compare.go      which objects are added, removed and changed
//	fields.go       which fields of an object change
//	definitions.go  what a change of a definition could do to objects that exist
//	text.go         the answer for people
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

// Kind says what would happen to an object.
type Kind string

// Kinds of changes.
const (
	Added   Kind = "added"
	Removed Kind = "removed"
	Changed Kind = "changed"
)

// Change is what would happen to one object.
type Change struct {
	// Object is its group, kind, namespace and name, such as "apps/Deployment kyma-system/operator".
	Object string `json:"object"`
	Kind   Kind   `json:"change"`
	// Fields are the first of those that change, and More is how many there are besides.
	Fields []Field `json:"fields,omitempty"`
	More   int     `json:"more,omitempty"`
	// Risks are what the change of a definition could do to objects that exist.
	Risks []Risk `json:"risks,omitempty"`
}

// fieldsAtMost is how many fields of an object are named.
const fieldsAtMost = 20

// identity is what makes an object the same one in both versions.
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

// Compare tells what would change from one version's objects to those of another, ordered by kind and name. Objects are the
// same by group, kind, namespace and name: another version of the API is a field that changes.
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

// compareOne is nil where nothing changes.
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
			return nil, nil //nolint:nilnil // having none is an ordinary case
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
