package objectdiff

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// Field is a changed field.
type Field struct {
	// Path is the path of the field, such as `.spec.template.spec.containers[name=operator].image`.
	Path string `json:"path"`
	// From and To are the values as JSON, shortened if they are long; empty if the field is missing.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Hidden is true if the values are not shown, as for Secrets.
	Hidden bool `json:"hidden,omitempty"`
}

// valueBytes is how much of a value is shown.
const valueBytes = 80

// secretKind returns the kind whose values are never shown.
func secretKind() schema.GroupKind { return schema.GroupKind{Kind: "Secret"} }

// withoutValues hides all values, because a Secret's data may also be in its annotations.
func withoutValues(fields []Field) []Field {
	hidden := make([]Field, 0, len(fields))
	for _, field := range fields {
		hidden = append(hidden, Field{Path: field.Path, Hidden: true})
	}
	return hidden
}

// fieldsOf returns the fields that differ between two objects, ordered by path. If a field is missing in one of them,
// only the outermost missing field is returned.
func fieldsOf(before, after map[string]any) ([]Field, error) {
	old, err := typed.DeducedParseableType.FromUnstructured(keyed(before))
	if err != nil {
		return nil, err
	}
	present, err := typed.DeducedParseableType.FromUnstructured(keyed(after))
	if err != nil {
		return nil, err
	}
	compared, err := old.Compare(present)
	if err != nil {
		return nil, err
	}
	fields := map[string]Field{}
	for _, set := range []*fieldpath.Set{compared.Added, compared.Removed, compared.Modified} {
		for path := range set.Leaves().All() {
			field := fieldAt(path, before, after)
			if field.From != field.To {
				fields[field.Path] = field
			}
		}
	}
	var all []Field
	for _, path := range slices.Sorted(maps.Keys(fields)) {
		field := fields[path]
		field.From, field.To = cut(field.From), cut(field.To)
		all = append(all, field)
	}
	return all, nil
}

// fieldAt follows a path as far as both objects have it.
func fieldAt(path fieldpath.Path, before, after any) Field {
	text := ""
	inBefore, inAfter := true, true
	for _, element := range path {
		if element.FieldName == nil || !inBefore || !inAfter || hasKeys(before) != hasKeys(after) {
			break
		}
		text += textOf(*element.FieldName)
		before, inBefore = valueAt(before, *element.FieldName)
		after, inAfter = valueAt(after, *element.FieldName)
	}
	field := Field{Path: text}
	if inBefore {
		field.From = encoded(before)
	}
	if inAfter {
		field.To = encoded(after)
	}
	return field
}

// keyed replaces lists of objects by maps, so that objects of the same name are compared. No schema defines these keys,
// and the library treats a list as one value.
func keyed(value any) any {
	switch value := value.(type) {
	case map[string]any:
		all := make(map[string]any, len(value))
		for key, content := range value {
			all[key] = keyed(content)
		}
		return all
	case []any:
		keys := keysOf(value)
		if keys == nil {
			return value
		}
		all := make(map[string]any, len(value))
		for i, content := range value {
			all[keys[i]] = keyed(content)
		}
		return all
	default:
		return value
	}
}

// keysOf returns the keys of a list of objects: their names if these are unique, else their positions. It returns nil
// for other lists.
func keysOf(list []any) []string {
	byPosition, byName, names := make([]string, 0, len(list)), make([]string, 0, len(list)), map[string]bool{}
	for i, content := range list {
		object, ok := content.(map[string]any)
		if !ok {
			return nil
		}
		byPosition = append(byPosition, fmt.Sprintf("[%d]", i))
		if name, ok := object["name"].(string); ok && !names[name] {
			names[name] = true
			byName = append(byName, "[name="+name+"]")
		}
	}
	if len(list) == 0 {
		return nil
	}
	if len(byName) == len(list) {
		return byName
	}
	return byPosition
}

// hasKeys reports whether a value is compared by its elements.
func hasKeys(value any) bool {
	list, isList := value.([]any)
	_, isMap := value.(map[string]any)
	return isMap || isList && keysOf(list) != nil
}

func valueAt(value any, key string) (any, bool) {
	switch value := value.(type) {
	case map[string]any:
		content, there := value[key]
		return content, there
	case []any:
		if at := slices.Index(keysOf(value), key); at >= 0 {
			return value[at], true
		}
	}
	return nil, false
}

var plain = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func textOf(key string) string {
	switch {
	case plain.MatchString(key):
		return "." + key
	case strings.HasPrefix(key, "["):
		return key
	default:
		return fmt.Sprintf("[%q]", key)
	}
}

func encoded(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

func cut(text string) string {
	if len(text) <= valueBytes {
		return text
	}
	return strings.ToValidUTF8(text[:valueBytes], "") + "…"
}
