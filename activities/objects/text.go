package objects

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
)

// MaxNamed is how many objects a message names.
const MaxNamed = 3

// FirstOf names the first few of a list.
func FirstOf(all []string) string {
	all = slices.Sorted(slices.Values(all))
	if len(all) <= MaxNamed {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:MaxNamed], ", "), len(all)-MaxNamed)
}

// Describe names an object for people.
func Describe(kind string, name types.NamespacedName) string {
	if name.Namespace == "" {
		return kind + " " + name.Name
	}
	return kind + " " + name.String()
}

// Shorten keeps what others say to what fits a status.
func Shorten(text string) string {
	const enough = 160
	return fault.Shorten(text, enough)
}
