package rollout

import (
	"encoding/json"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// AnnotationHeldBack on the Manifest of a mandatory module says why it does not get the version of a rollout, see
// HeldBack. For other modules, the Kyma's status has that information.
const AnnotationHeldBack = shared.OperatorGroup + "/held-back"

// HeldBack says why a Manifest does not get a version.
type HeldBack struct {
	Version string `json:"version"`
	// Waits is true if the Manifest waits for a maintenance window. Otherwise the version is refused, for Reason.
	Waits   bool   `json:"waits,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// Text returns the value of the annotation.
func (h HeldBack) Text() string {
	h.Message = cut(h.Message)
	text, err := json.Marshal(h)
	if err != nil {
		return "" // plain values always encode
	}
	return string(text)
}

// HeldBackFrom returns why a Manifest does not get a version; false if no reason is known.
func HeldBackFrom(m *v1beta2.Manifest, version string) (HeldBack, bool) {
	var h HeldBack
	if err := json.Unmarshal([]byte(m.Annotations[AnnotationHeldBack]), &h); err != nil {
		return HeldBack{}, false // the annotation is missing or was edited
	}
	return h, h.Version == version && m.Spec.Version != version
}
