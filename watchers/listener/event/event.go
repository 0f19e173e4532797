// Package event reads the body of an event from a remote cluster. Whoever sends it may be an agent that somebody took
// over: what it names is used in comparisons only, and is of a size and of characters that do not matter elsewhere.
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

// Most bytes of what an event names: those of Kubernetes.
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

// Parse reads a body, of v1 or v2. Fields that it does not know are ignored: agents of earlier generations send more.
func Parse(body []byte) (shared.RemoteEvent, error) {
	var read shared.RemoteEvent
	if err := json.Unmarshal(body, &read); err != nil {
		// What the decoder says may have parts of the body.
		return shared.RemoteEvent{}, fmt.Errorf("%w: it is no JSON of the fields that an event has", ErrInvalid)
	}
	if field := invalid(read); field != "" {
		return shared.RemoteEvent{}, fmt.Errorf("%w: %s", ErrInvalid, field)
	}
	return read, nil
}

// invalid names the first field that no object of Kubernetes has in this way; empty where there is none.
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

// isName tells whether an object may have this name: of most kinds a DNS name, of some, such as roles, any that can be a
// part of a path.
func isName(name string) bool {
	return name != "" && len(name) <= maxName && utf8.ValidString(name) && !strings.ContainsAny(name, "/%") &&
		!strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) })
}
