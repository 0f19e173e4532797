package rollout

import (
	"encoding/json"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// AnnotationHeldBack on the Manifest of a module that every cluster has says why it does not get the version of a rollout; see
// HeldBack. Of other modules, the Kyma's status says so.
const AnnotationHeldBack = shared.OperatorGroup + "/held-back"

// HeldBack is why a Manifest does not get a version.
type HeldBack struct {
	Version string `json:"version"`
	// Waits is true where it waits for a maintenance window; otherwise the version is refused, for Reason.
	Waits   bool   `json:"waits,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// Text is the annotation.
func (h HeldBack) Text() string {
	h.Message = cut(h.Message)
	text, err := json.Marshal(h)
	if err != nil {
		return "" // plain values always encode
	}
	return string(text)
}

// HeldBackFrom tells why a Manifest does not get a version; false where nothing is known that keeps it back.
func HeldBackFrom(m *v1beta2.Manifest, version string) (HeldBack, bool) {
	var h HeldBack
	if err := json.Unmarshal([]byte(m.Annotations[AnnotationHeldBack]), &h); err != nil {
		return HeldBack{}, false // nothing is noted, or somebody edited it
	}
	return h, h.Version == version && m.Spec.Version != version
}
