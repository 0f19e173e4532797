package manifests

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// InputsDigest returns the digest of everything in a Manifest that decides what to do: its identity and generation,
// whether it is being deleted, the relevant labels and annotations, and its target. Watchers and the sweep compute it
// from their caches and kick the Manifest if it differs from the digest in the status.
func InputsDigest(m *v1beta2.Manifest) string {
	inputs := []string{
		string(m.UID),
		strconv.FormatInt(m.Generation, 10),
		strconv.FormatBool(!m.DeletionTimestamp.IsZero()),
		strconv.FormatBool(m.IsSkipReconciliation()),
		strconv.FormatBool(m.IsUnmanaged()),
		m.Annotations[desired.AnnotationCustomStateCheck],
		m.Annotations[desired.AnnotationRemoteNamespace],
		m.Annotations[shared.AnnotationRecreateDefaultCR],
	}
	if strategy := m.Annotations[desired.AnnotationRemoteStrategy]; strategy != "" {
		inputs = append(inputs, strategy)
	}
	if secret := m.Annotations[desired.AnnotationImagePullSecret]; secret != "" {
		inputs = append(inputs, "image pull secret "+secret)
	}
	if m.Annotations[shared.AnnotationInjects] == shared.ValueTrue {
		inputs = append(inputs, "injects data")
	}
	if agent, ok := m.Annotations[desired.AnnotationAgent]; ok {
		inputs = append(inputs, "agent "+agent)
	}
	if target := m.Status.Target; target != nil {
		inputs = append(inputs, "target", string(target.Cluster), target.SpecDigest)
	}
	encoded, err := json.Marshal(inputs)
	if err != nil {
		// A slice of strings can always be encoded.
		return ""
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:8])
}
