package rollout

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// AnnotationUpgrade on a Manifest records its last upgrade, see Upgrade.
const AnnotationUpgrade = shared.OperatorGroup + "/upgrade"

// Upgrade records the last change of a Manifest's version. With it, a rollout finds out whether a cluster failed
// because of the new version, and when the cluster must be ready.
type Upgrade struct {
	From string    `json:"from"`
	At   time.Time `json:"at"`
	// WasWell is true if the module was ready in the previous version.
	WasWell bool `json:"wasWell"`
}

// UpgradeOf returns the recorded upgrade; zero if the Manifest has had only one version.
func UpgradeOf(m *v1beta2.Manifest) Upgrade {
	var u Upgrade
	if err := json.Unmarshal([]byte(m.Annotations[AnnotationUpgrade]), &u); err != nil {
		return Upgrade{} // missing, or edited by someone else
	}
	return u
}

// NoteUpgrade records on a Manifest that will be written from which version it is upgraded. Without a change of version
// it keeps the earlier record.
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
