// Package event parses the body of an event from a remote cluster. The sender may be a compromised agent. The names in
// a body are therefore only used in comparisons, and their length and characters are restricted.
package event

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// Maximum lengths in bytes; those of Kubernetes.
const (
	maxName      = 253
	maxNamespace = 63
	maxGroup     = 253
	maxVersion   = 63
	maxKind      = 63
)

// ErrInvalid is wrapped by every error of Parse.
var ErrInvalid = errors.New("invalid event")

var (
	kinds = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)
	// namespaces also matches groups and versions.
	namespaces = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)
)

// Parse parses a body of v1 or v2. It ignores unknown fields, because agents of earlier generations send more.
func Parse(body []byte) (shared.RemoteEvent, error) {
	var read shared.RemoteEvent
	if err := json.Unmarshal(body, &read); err != nil {
		// The decoder's error may contain parts of the body.
		return shared.RemoteEvent{}, fmt.Errorf("%w: the body is not the JSON of an event", ErrInvalid)
	}
	if field := invalid(read); field != "" {
		return shared.RemoteEvent{}, fmt.Errorf("%w: %s", ErrInvalid, field)
	}
	return read, nil
}

// invalid returns the first field that cannot belong to a Kubernetes object; empty if all are valid.
func invalid(e shared.RemoteEvent) string {
	optional := func(text string, most int) bool {
		return text == "" || len(text) <= most && namespaces.MatchString(text)
	}
	switch {
	case len(e.WatchedGVK.Kind) > maxKind || !kinds.MatchString(e.WatchedGVK.Kind):
		return "watchedGvk.kind"
	case !optional(e.WatchedGVK.Group, maxGroup):
		return "watchedGvk.group"
	case !optional(e.WatchedGVK.Version, maxVersion):
		return "watchedGvk.version"
	case !optional(e.Watched.Namespace, maxNamespace):
		return "watched.Namespace"
	case !isName(e.Watched.Name):
		return "watched.Name"
	}
	return ""
}

// isName reports whether an object may have this name. Most kinds require a DNS name, but some, such as roles, allow
// any path segment.
func isName(name string) bool {
	return name != "" && len(name) <= maxName && utf8.ValidString(name) && !strings.ContainsAny(name, "/%") &&
		!strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) })
}
