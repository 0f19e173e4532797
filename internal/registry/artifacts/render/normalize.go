package render

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Normalize changes an object of a built-in kind to the form in which an API server stores it, as far as server-side
// apply needs that. It returns the lists with repeated items, for messages.
//
//   - The API server copies some fields to other fields: stringData of a Secret to data, serviceAccount of a pod to
//     serviceAccountName and back. A client that applies only one of the two does not own the other. A value that a later
//     version drops would then stay.
//   - Server-side apply refuses two items of a list with one key. For other clients, the API server accepts some of them, and
//     one of the two has no effect.
//
// Normalize leaves content that it cannot normalize to the API server to refuse.
func Normalize(u *unstructured.Unstructured) (repeated []string) {
	switch u.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Kind: "Secret"}:
		moveStringData(u.Object)
	case schema.GroupKind{Kind: "ServiceAccount"}:
		dropRepeated(u.Object, "secrets", "", &repeated, named())
	}
	pod, path := podSpecIn(u)
	if pod == nil {
		return repeated
	}
	nameServiceAccount(pod)
	dropRepeated(pod, "imagePullSecrets", path, &repeated, named())
	dropRepeated(pod, "hostAliases", path, &repeated, sameAddress())
	for _, field := range []string{"initContainers", "containers", "ephemeralContainers"} {
		containers, _ := pod[field].([]any)
		for i, item := range containers {
			container, _ := item.(map[string]any)
			at := fmt.Sprintf("%s%s[%d].", path, field, i)
			dropRepeated(container, "env", at, &repeated, named())
			dropRepeated(container, "ports", at, &repeated, samePort())
		}
	}
	return repeated
}

// moveStringData moves stringData to data. For a key in both, stringData wins.
func moveStringData(secret map[string]any) {
	given, isMap := secret["stringData"].(map[string]any)
	data, hasData := secret["data"].(map[string]any)
	if !isMap || !hasData && secret["data"] != nil {
		return
	}
	merged := maps.Clone(data)
	if merged == nil {
		merged = map[string]any{}
	}
	for key, value := range given {
		text, isText := value.(string)
		if !isText && value != nil {
			return
		}
		merged[key] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	delete(secret, "stringData")
	if len(merged) > 0 {
		secret["data"] = merged
	}
}

// nameServiceAccount sets both fields for a pod's ServiceAccount. The API server keeps serviceAccount for old clients,
// and prefers serviceAccountName.
func nameServiceAccount(pod map[string]any) {
	const current, deprecated = "serviceAccountName", "serviceAccount"
	for _, field := range []string{current, deprecated} {
		if name := textOf(pod, field); name != "" {
			pod[current], pod[deprecated] = name, name
			return
		}
	}
}

// podSpecIn returns the pod spec of an object of a built-in kind, and its path with a final dot. The pod spec is nil if
// the object has none.
func podSpecIn(u *unstructured.Unstructured) (pod map[string]any, path string) {
	if !slices.Contains([]string{"", "apps", "batch"}, u.GroupVersionKind().Group) {
		return nil, ""
	}
	for _, fields := range [][]string{
		{"spec"}, {"template", "spec"}, {"spec", "template", "spec"}, {"spec", "jobTemplate", "spec", "template", "spec"},
	} {
		found, _, err := unstructured.NestedFieldNoCopy(u.Object, fields...)
		spec, isMap := found.(map[string]any)
		if _, has := spec["containers"].([]any); err != nil || !isMap || !has {
			continue
		}
		for _, field := range fields {
			path += field + "."
		}
		return spec, path
	}
	return nil, ""
}

// keyed defines the key of a list's items, and how to merge items with the same key.
type keyed struct {
	// key returns the key of an item, or "" if it has none.
	key func(item map[string]any) string
	// merge merges two items with the same key. It returns nil if both have to stay.
	merge func(earlier, later map[string]any) map[string]any
}

// dropRepeated merges the items with the same key into one, in the place of the last, and records the key.
func dropRepeated(content map[string]any, field, at string, repeated *[]string, by keyed) {
	list, _ := content[field].([]any)
	var kept []any
	places, noted := map[string]int{}, map[string]bool{}
	for _, item := range slices.Backward(list) {
		fields, _ := item.(map[string]any)
		key := by.key(fields)
		place, there := places[key]
		if key == "" || !there {
			places[key] = len(kept)
			kept = append(kept, item)
			continue
		}
		later, _ := kept[place].(map[string]any)
		merged := by.merge(fields, later)
		if merged == nil {
			kept = append(kept, item)
			continue
		}
		kept[place] = merged
		if !noted[key] {
			noted[key] = true
			*repeated = append(*repeated, fmt.Sprintf("%s%s has %s more than once", at, field, key))
		}
	}
	if len(kept) < len(list) {
		slices.Reverse(kept)
		content[field] = kept
	}
}

// named keeps the later of two items with the same name, like the kubelet does with environment variables.
func named() keyed {
	return keyed{
		key:   func(item map[string]any) string { return textOf(item, "name") },
		merge: func(_, later map[string]any) map[string]any { return later },
	}
}

// samePort merges ports with the same number and protocol if they differ in nothing else. Two names must both stay,
// because other objects can refer to each.
func samePort() keyed {
	const number, protocol = "containerPort", "protocol"
	return keyed{
		key: func(item map[string]any) string {
			if _, isNumber := item[number].(int64); !isNumber {
				return ""
			}
			return fmt.Sprintf("%d/%s", item[number], cmp.Or(textOf(item, protocol), "TCP"))
		},
		merge: func(earlier, later map[string]any) map[string]any {
			merged := maps.Clone(earlier)
			for field, value := range later {
				if before, has := merged[field]; field != protocol && has && !reflect.DeepEqual(before, value) {
					return nil
				}
				merged[field] = value
			}
			return merged
		},
	}
}

// sameAddress merges the host names of items with the same address, because the kubelet writes both.
func sameAddress() keyed {
	return keyed{
		key: func(item map[string]any) string { return textOf(item, "ip") },
		merge: func(earlier, later map[string]any) map[string]any {
			first, _ := earlier["hostnames"].([]any)
			second, _ := later["hostnames"].([]any)
			return map[string]any{"ip": later["ip"], "hostnames": append(second, first...)}
		},
	}
}

func textOf(item map[string]any, field string) string {
	text, _ := item[field].(string)
	return text
}
