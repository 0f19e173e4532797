// Package agent describes the agent that Lifecycle Manager runs in a remote cluster: its Spec, which is the same for all
// clusters of an instance, the objects that it consists of (Spec.Objects), and the Manifest that installs them (NewManifest). By
// that Manifest the agent is installed, compared and removed like a module. The control plane stores it as a RemoteAgent.
package agent

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// ReasonInvalidSpec: what a Manifest says of the agent cannot be read.
const ReasonInvalidSpec = "InvalidAgent"

// Spec is what the agent of a remote cluster is to be. Two specs are the same where their Encode is.
type Spec struct {
	// Image is that of the agent, MemoryLimit and CPULimit those of its container.
	Image       string `json:"image"`
	MemoryLimit string `json:"memoryLimit,omitempty"`
	CPULimit    string `json:"cpuLimit,omitempty"`
	// FIPS allows the agent nothing but FIPS 140-3.
	FIPS bool `json:"fips,omitempty"`
	// Listener is the host:port that events are sent to.
	Listener string `json:"listener"`
	// Authorities are the certificates (PEM) by which the API server checks the agent's.
	Authorities string `json:"authorities"`
	// Watches are what is reported, ordered by name.
	Watches []Watch `json:"watches,omitempty"`
}

// Watch is what one Watcher has reported.
type Watch struct {
	// Name is `<namespace>.<name>` of the Watcher, Manager who gets the events.
	Name    string `json:"name"`
	Manager string `json:"manager"`
	// Group, Version and Resource are what is watched, Field the part whose change counts, and Labels those that objects have.
	Group    string               `json:"group"`
	Version  string               `json:"version"`
	Resource string               `json:"resource"`
	Field    v1beta2.WatchedField `json:"field"`
	Labels   map[string]string    `json:"labels,omitempty"`
}

// watchOf is what a Watcher has reported.
func watchOf(settings desired.Settings, watcher *v1beta2.Watcher) Watch {
	return Watch{
		Name: watcher.Namespace + "." + watcher.Name, Manager: settings.ManagerOf(watcher),
		Group: watcher.Spec.ResourceToWatch.Group, Version: watcher.Spec.ResourceToWatch.Version, Resource: watcher.Spec.ResourceToWatch.Resource,
		Field: watcher.Spec.Field, Labels: maps.Clone(watcher.Spec.LabelsToWatch),
	}
}

// WatchesOf are those of the Watchers of an instance that are not being deleted.
func WatchesOf(settings desired.Settings, watchers []v1beta2.Watcher) []Watch {
	var all []Watch
	for i := range watchers {
		w := &watchers[i]
		if settings.Ours(w.Labels) && w.DeletionTimestamp.IsZero() {
			all = append(all, watchOf(settings, w))
		}
	}
	slices.SortFunc(all, func(a, b Watch) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Version is short, and another one for another spec.
func (s Spec) Version() string {
	sum := sha256.Sum256([]byte(s.Encode()))
	return hex.EncodeToString(sum[:8])
}

// Encode is the spec as it is in the annotation of a RemoteAgent (desired.AnnotationAgent).
func (s Spec) Encode() string {
	encoded, err := json.Marshal(s)
	if err != nil {
		return "" // not reachable: strings, and maps and lists of them, can always be encoded
	}
	return string(encoded)
}

// ImageVersion is the tag of the agent's image, or the end of its digest.
func (s Spec) ImageVersion() string {
	name := s.Image[strings.LastIndex(s.Image, "/")+1:]
	if _, digest, ok := strings.Cut(name, "@"); ok {
		return digest[max(0, len(digest)-12):]
	}
	if _, tag, ok := strings.Cut(name, ":"); ok {
		return tag
	}
	return "latest"
}

// Of returns the spec in the Manifest of an agent; ok is false for other Manifests.
func Of(m *v1beta2.Manifest) (spec Spec, ok bool, err error) {
	encoded, ok := m.Annotations[desired.AnnotationAgent]
	if !ok {
		return Spec{}, false, nil
	}
	if err := json.Unmarshal([]byte(encoded), &spec); err != nil {
		return Spec{}, true, fault.New(fault.Rejected, ReasonInvalidSpec, "the annotation %s cannot be read: %w", desired.AnnotationAgent, err)
	}
	return spec, true, nil
}

// webhookName is the name of a webhook, which is a domain name.
func (w Watch) webhookName() string { return fmt.Sprintf("%s.%s", w.Name, shared.OperatorGroup) }

// resource is what is watched as a webhook's rule says it.
func (w Watch) resource() string {
	if w.Field == v1beta2.WatchedFieldStatus {
		return w.Resource + "/status"
	}
	return w.Resource
}

// Unknown replaces the version of a spec that cannot be worked out, for a reason that only a change removes.
func Unknown(reason string) string { return "unknown: " + reason }
