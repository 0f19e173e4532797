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

// Normalize writes an object of a kind of Kubernetes the way that an API server stores it, as far as server-side apply
// needs it. It returns the lists that had an item more than once, for messages.
//
//   - Some fields are copied to other fields by the API server: stringData of a Secret to data, serviceAccount of a pod
//     to serviceAccountName and back. Who applies only one of both does not own the other, so that a value that a later
//     version drops would stay.
//   - Server-side apply refuses two items of a list under one key, also where the API server accepts them from other
//     clients and one of them has no effect.
//
// What cannot be normalized stays as it is, for the API server to refuse.
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

// moveStringData writes stringData as data. A key that is in both has the value in stringData.
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

// nameServiceAccount sets both of the fields that name a pod's ServiceAccount. The API server keeps serviceAccount for old
// clients, and prefers serviceAccountName.
func nameServiceAccount(pod map[string]any) {
	const current, deprecated = "serviceAccountName", "serviceAccount"
	for _, field := range []string{current, deprecated} {
		if name := textOf(pod, field); name != "" {
			pod[current], pod[deprecated] = name, name
			return
		}
	}
}

// podSpecIn returns the pod spec of an object of a kind of Kubernetes, and the path to it, which ends with a dot. The pod
// spec is nil if the object has none.
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

// keyed says which items of a list are under one key.
type keyed struct {
	// key of an item; "" if it has none.
	key func(item map[string]any) string
	// merge returns what two items under one key come to, and nil if both have to stay.
	merge func(earlier, later map[string]any) map[string]any
}

// dropRepeated leaves one item where a list has several under one key, in the place of the last, and notes it.
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

// named takes the later of two items with one name, as the kubelet does with environment variables.
func named() keyed {
	return keyed{
		key:   func(item map[string]any) string { return textOf(item, "name") },
		merge: func(_, later map[string]any) map[string]any { return later },
	}
}

// samePort takes one number and protocol for the same port, as long as nothing else about it differs: of two names each
// can be referred to, so that none can be dropped.
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

// sameAddress takes the host names of both items for one address, since the kubelet writes both.
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
