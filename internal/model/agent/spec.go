// Package agent describes the agent that Lifecycle Manager runs in a remote cluster. The agent reports which objects
// have changed.
//
// A Spec is the desired state of the agent, which is the same for all clusters of an instance. Spec.Objects returns the
// agent's objects, and NewManifest the Manifest that installs them. Because of that Manifest, the agent is installed,
// checked for drift and removed like a module. The control plane stores the Manifest as a RemoteAgent (package
// installations).
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

// ReasonInvalidSpec is the reason if the agent's spec in a Manifest is invalid.
const ReasonInvalidSpec = "InvalidAgent"

// Spec is the desired state of the agent in a remote cluster. Two specs are equal if Encode returns the same for both.
type Spec struct {
	// Image is the image of the agent. MemoryLimit and CPULimit are the limits of its container.
	Image       string `json:"image"`
	MemoryLimit string `json:"memoryLimit,omitempty"`
	CPULimit    string `json:"cpuLimit,omitempty"`
	// FIPS restricts the agent to FIPS 140-3.
	FIPS bool `json:"fips,omitempty"`
	// Listener is the host:port to which the agent sends events.
	Listener string `json:"listener"`
	// Authorities are the CA certificates (PEM) with which the API server verifies the agent's certificate.
	Authorities string `json:"authorities"`
	// Watches are the objects that the agent reports, sorted by name.
	Watches []Watch `json:"watches,omitempty"`
}

// Watch describes which changes the agent reports for one Watcher.
type Watch struct {
	// Name is `<namespace>.<name>` of the Watcher. Manager is the receiver of the events.
	Name    string `json:"name"`
	Manager string `json:"manager"`
	// Group, Version and Resource select the watched kind, and Labels its objects. Field is the part of an object that
	// must change for an event.
	Group    string               `json:"group"`
	Version  string               `json:"version"`
	Resource string               `json:"resource"`
	Field    v1beta2.WatchedField `json:"field"`
	Labels   map[string]string    `json:"labels,omitempty"`
}

// watchOf returns the Watch for a Watcher.
func watchOf(settings desired.Settings, watcher *v1beta2.Watcher) Watch {
	return Watch{
		Name: watcher.Namespace + "." + watcher.Name, Manager: settings.ManagerOf(watcher),
		Group: watcher.Spec.ResourceToWatch.Group, Version: watcher.Spec.ResourceToWatch.Version, Resource: watcher.Spec.ResourceToWatch.Resource,
		Field: watcher.Spec.Field, Labels: maps.Clone(watcher.Spec.LabelsToWatch),
	}
}

// WatchesOf returns a Watch for each Watcher of the instance that is not being deleted, sorted by name.
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

// Version returns a short digest of the spec.
func (s Spec) Version() string {
	sum := sha256.Sum256([]byte(s.Encode()))
	return hex.EncodeToString(sum[:8])
}

// Encode returns the spec as JSON, as it is stored in the annotation desired.AnnotationAgent.
func (s Spec) Encode() string {
	encoded, err := json.Marshal(s)
	if err != nil {
		return "" // unreachable: strings, and maps and lists of strings, can always be encoded
	}
	return string(encoded)
}

// ImageVersion returns the tag of the agent's image, or the end of its digest.
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
		return Spec{}, true, fault.New(fault.Rejected, ReasonInvalidSpec, "parse annotation %s: %w", desired.AnnotationAgent, err)
	}
	return spec, true, nil
}

// webhookName returns the name of the webhook, which must be a domain name.
func (w Watch) webhookName() string { return fmt.Sprintf("%s.%s", w.Name, shared.OperatorGroup) }

// resource returns the resource as it is written in a webhook's rule.
func (w Watch) resource() string {
	if w.Field == v1beta2.WatchedFieldStatus {
		return w.Resource + "/status"
	}
	return w.Resource
}

// Unknown returns the version to report for a spec that could not be computed, with a reason that only a change of
// settings removes.
func Unknown(reason string) string { return "unknown: " + reason }
