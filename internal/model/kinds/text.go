package kinds

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Text returns a kind in its form in `status.kinds`.
func Text(gvk schema.GroupVersionKind) string {
	return strings.Join([]string{gvk.Group, gvk.Version, gvk.Kind}, kindSeparator)
}

// kindSeparator separates group, version and kind in `status.kinds`.
const kindSeparator = "/"

// Parse reads a kind in its form in `status.kinds`.
func Parse(text string) (schema.GroupVersionKind, bool) {
	parts := strings.Split(text, kindSeparator)
	if len(parts) != 3 || parts[1] == "" || parts[2] == "" {
		return schema.GroupVersionKind{}, false
	}
	return schema.GroupVersionKind{Group: parts[0], Version: parts[1], Kind: parts[2]}, true
}
