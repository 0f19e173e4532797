package rollout

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// AnnotationUpgrade on a Manifest says when it got its version, and how the module was before; see Upgrade.
const AnnotationUpgrade = shared.OperatorGroup + "/upgrade"

// Upgrade is what a Manifest says of its last change of version: a rollout tells by it whether a cluster failed because of
// the new version, and when it has to be ready.
type Upgrade struct {
	From string    `json:"from"`
	At   time.Time `json:"at"`
	// WasWell is true where the module was ready in the version before.
	WasWell bool `json:"wasWell"`
}

// UpgradeOf reads it; zero where the Manifest has had one version only.
func UpgradeOf(m *v1beta2.Manifest) Upgrade {
	var u Upgrade
	if err := json.Unmarshal([]byte(m.Annotations[AnnotationUpgrade]), &u); err != nil {
		return Upgrade{} // none, or one that somebody edited
	}
	return u
}

// NoteUpgrade notes on a Manifest that is about to be written what it is upgraded from, or keeps what was noted.
func NoteUpgrade(existing, wanted *v1beta2.Manifest, now time.Time) {
	if existing == nil || wanted == nil {
		return
	}
	noted := existing.Annotations[AnnotationUpgrade]
	if existing.Spec.Version != wanted.Spec.Version {
		before := existing.Status.KnownState()
		well := before == shared.StateReady || before == shared.StateWarning
		text, err := json.Marshal(Upgrade{From: existing.Spec.Version, At: now.UTC().Truncate(time.Second), WasWell: well})
		if err != nil {
			return // three plain values always encode
		}
		noted = string(text)
	}
	if noted != "" {
		metav1.SetMetaDataAnnotation(&wanted.ObjectMeta, AnnotationUpgrade, noted)
	}
}
