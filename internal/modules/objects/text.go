package objects

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// MaxNamed is the maximum number of objects that a message names.
const MaxNamed = 3

// FirstOf joins the first MaxNamed entries of a list, sorted, and adds the number of the remaining ones.
func FirstOf(all []string) string {
	all = slices.Sorted(slices.Values(all))
	if len(all) <= MaxNamed {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:MaxNamed], ", "), len(all)-MaxNamed)
}

// Describe returns an object's name for messages.
func Describe(kind string, name types.NamespacedName) string {
	if name.Namespace == "" {
		return kind + " " + name.Name
	}
	return kind + " " + name.String()
}

// Shorten cuts a message from another component so that it fits into a status.
func Shorten(text string) string {
	const limit = 160
	return fault.Shorten(text, limit)
}
