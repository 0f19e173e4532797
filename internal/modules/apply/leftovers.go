package apply

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// anyItem is the index of an item in a list if the real index is not known.
const anyItem = -1

// step is one step of the path to a field: a field's name, or an item's index in a list.
type step struct {
	name string
	item int
}

// stepsTo parses a path as an API server writes it, for example spec.ports[0].nodePort.
func stepsTo(field string) []step {
	var all []step
	for field != "" {
		switch field[0] {
		case '.':
			field = field[1:]
		case '[':
			key, rest, _ := strings.Cut(field[1:], "]")
			if index, err := strconv.Atoi(key); err == nil {
				all = append(all, step{item: index})
			} else {
				all = append(all, step{name: key})
			}
			field = rest
		default:
			end := strings.IndexAny(field, ".[")
			if end < 0 {
				end = len(field)
			}
			all = append(all, step{name: field[:end]})
			field = field[end:]
		}
	}
	return all
}

// matches compares two steps. It ignores case, because API servers spell some names differently than the API does
// (spec.LoadBalancerSourceRanges).
func (s step) matches(other step) bool {
	if s.name != "" || other.name != "" {
		return strings.EqualFold(s.name, other.name)
	}
	return s.item == other.item || s.item == anyItem || other.item == anyItem
}

func leadTo(beginning, path []step) bool {
	return len(beginning) <= len(path) && slices.EqualFunc(beginning, path[:len(beginning)], step.matches)
}

// leftover is a field of a live object that the new rendering lacks. The API server, another manager or an earlier
// version of the module set it.
type leftover struct {
	path  fieldpath.Path
	steps []step
	value any
}

// comparison collects the leftovers of a live object.
type comparison struct {
	// items holds the keys of list items that managers own, by the list's path.
	items map[string][]fieldpath.PathElement
	found []leftover
}

// leftoversOf returns the leftovers of a live object. List items that only other managers have are not leftovers:
// they stay next to ours. leftoversOf also removes null fields from wanted. A null field means the same as a missing
// one, but server-side apply would keep its live value.
func leftoversOf(live, wanted map[string]any, managed []metav1.ManagedFieldsEntry) []leftover {
	c := comparison{items: itemsIn(managed)}
	content := maps.Clone(live)
	for _, name := range []string{"apiVersion", "kind", kinds.PathMetadata, kinds.PathStatus} {
		delete(content, name)
	}
	c.fields(nil, nil, content, wanted)
	return c.found
}

// itemsIn returns the keys of all list items that managers own, by the list's path.
func itemsIn(managed []metav1.ManagedFieldsEntry) map[string][]fieldpath.PathElement {
	all, known := map[string][]fieldpath.PathElement{}, map[string]bool{}
	for i := range managed {
		for path := range inventory.FieldsIn(&managed[i]).All() {
			for at := range path {
				if path[at].Key == nil || known[path[:at+1].String()] {
					continue
				}
				known[path[:at+1].String()] = true
				list := path[:at].Copy().String()
				all[list] = append(all[list], path[:at+1].Copy()[at])
			}
		}
	}
	return all
}

func (c *comparison) fields(path fieldpath.Path, steps []step, live, wanted map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(live)) {
		at := append(path.Copy(), fieldpath.PathElement{FieldName: &name})
		to := append(slices.Clone(steps), step{name: name})
		if wanted[name] == nil {
			delete(wanted, name)
			c.found = append(c.found, leftover{path: at, steps: to, value: live[name]})
			continue
		}
		c.values(at, to, live[name], wanted[name])
	}
}

func (c *comparison) values(path fieldpath.Path, steps []step, live, wanted any) {
	switch ours := wanted.(type) {
	case map[string]any:
		if theirs, ok := live.(map[string]any); ok {
			c.fields(path, steps, theirs, ours)
		}
	case []any:
		theirs, _ := live.([]any)
		keys := c.items[path.String()]
		// The API server names items by their index in the merged list. That index equals the one in our list only if
		// nobody else has items in the list.
		shared := slices.ContainsFunc(theirs, func(item any) bool {
			fields, _ := item.(map[string]any)
			return !slices.ContainsFunc(keys, func(key fieldpath.PathElement) bool {
				return fields != nil && hasKey(fields, key) && itemWith(ours, key) >= 0
			})
		})
		for _, key := range keys {
			mine, other := itemWith(ours, key), itemWith(theirs, key)
			if mine < 0 || other < 0 {
				continue
			}
			index := mine
			if shared {
				index = anyItem
			}
			c.values(append(path.Copy(), key), append(slices.Clone(steps), step{item: index}), theirs[other], ours[mine])
		}
	}
}

// itemWith returns the index of the list item with a key; -1 if there is none.
func itemWith(items []any, key fieldpath.PathElement) int {
	return slices.IndexFunc(items, func(item any) bool {
		fields, _ := item.(map[string]any)
		return fields != nil && hasKey(fields, key)
	})
}

// inTheWay returns the leftovers that cannot exist together with the new rendering, according to the API server's
// causes:
//
//   - A cause names the leftover or a field in it. Example: rollingUpdate of a Deployment that now has the strategy Recreate.
//   - A cause names a field next to the leftover, and the two are alternatives. Example: the emptyDir of a volume that now has a
//     Secret. Alternatives are objects, or the cause mentions the leftover.
//   - A cause names the object that contains the leftover, and mentions the leftover. Example: the url of a webhook that now has
//     a service.
//
// An immutable field is never a reason to remove a leftover.
func inTheWay(all []leftover, causes []metav1.StatusCause, wanted map[string]any) []leftover {
	return lists.Filter(all, func(l leftover) bool {
		return slices.ContainsFunc(causes, func(cause metav1.StatusCause) bool { return !isImmutable(cause) && l.isMeantBy(cause, wanted) })
	})
}

func (l leftover) isMeantBy(cause metav1.StatusCause, wanted map[string]any) bool {
	named, parent := stepsTo(cause.Field), l.steps[:len(l.steps)-1]
	switch {
	case len(named) == 0:
		return false
	case leadTo(l.steps, named):
		return true
	case len(named) == len(l.steps) && leadTo(parent, named):
		_, isObject := l.value.(map[string]any)
		return isObject && isAlternative(valueAt(wanted, named)) || mentions(cause, l.name())
	case len(named) == len(parent) && leadTo(named, parent):
		return mentions(cause, l.name())
	}
	return false
}

func (l leftover) name() string { return l.steps[len(l.steps)-1].name }

// isAlternative reports whether the field that a cause names may be an alternative to an object. Some causes use the
// API server's internal name of a field, which no object has; the wanted value is then nil.
func isAlternative(wanted any) bool {
	_, isObject := wanted.(map[string]any)
	return isObject || wanted == nil
}

// valueAt returns the value of a field; nil if the field is missing.
func valueAt(object any, path []step) any {
	for _, s := range path {
		switch at := object.(type) {
		case map[string]any:
			object = at[s.name]
		case []any:
			if s.name != "" || s.item >= len(at) {
				return nil
			}
			object = at[s.item]
		default:
			return nil
		}
	}
	return object
}

// mentions reports whether the text of a cause, without the quoted value, contains the name of a field.
func mentions(cause metav1.StatusCause, name string) bool {
	found, err := regexp.MatchString(`\b`+regexp.QuoteMeta(name)+`\b`, detailOf(cause))
	return err == nil && found
}
