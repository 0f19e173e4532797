package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/remote"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// LastApplied is kubectl's record of an object. It is as large as the object and useless in a copy.
const LastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// Object is one object of the desired remote catalog.
type Object struct {
	source                client.Object // shared with the cache
	kind, name, namespace string
	digest, mark          string
}

func (o Object) labels() map[string]string {
	return remote.Merged(o.source.GetLabels(), map[string]string{shared.LabelManagedBy: shared.ManagedByKyma})
}

func (o Object) annotations() map[string]string {
	annotations := copiedAnnotations(o.source)
	annotations[shared.AnnotationAppliedDigest] = o.digest
	annotations[desired.AnnotationSyncedFrom] = o.mark
	if meta, ok := o.source.(*v1beta2.ModuleReleaseMeta); ok {
		annotations[shared.AnnotationChannels] = desired.ChannelsColumn(meta)
	}
	return annotations
}

// body returns the object to apply. generation is the generation that the object should have afterwards.
func (o Object) body(generation int64) (*unstructured.Unstructured, error) {
	spec, err := SpecOf(o.source)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetGroupVersionKind(remote.Kind(o.kind))
	object.SetName(o.name)
	object.SetNamespace(o.namespace)
	object.SetLabels(o.labels())
	annotations := o.annotations()
	annotations[remote.AnnotationGeneration] = fmt.Sprint(generation)
	object.SetAnnotations(annotations)
	return object, nil
}

// SpecOf returns the encoded spec of an object.
func SpecOf(source client.Object) (map[string]any, error) {
	encoded, err := json.Marshal(source)
	if err != nil {
		return nil, fmt.Errorf("encode %s %s: %w", desired.KindOf(source), desired.NameOf(source), err)
	}
	var content struct {
		Spec map[string]any `json:"spec"`
	}
	if err := json.Unmarshal(encoded, &content); err != nil {
		return nil, fmt.Errorf("encode %s %s: %w", desired.KindOf(source), desired.NameOf(source), err)
	}
	return content.Spec, nil
}

// copiedAnnotations returns the annotations without those that only matter in the control plane. Our own marks change
// often there, and must not cause writes to all clusters of a fleet.
func copiedAnnotations(source client.Object) map[string]string {
	annotations := remote.Merged(source.GetAnnotations(), nil)
	for _, own := range []string{
		LastApplied, desired.AnnotationGuardedRemoval, desired.AnnotationGuardedChange, desired.AnnotationApprovedRemoval, desired.AnnotationMandatoryBy,
		shared.AnnotationChannels, // the copy has its own
	} {
		delete(annotations, own)
	}
	return annotations
}

// contentDigest returns the digest of the copied content of an object. It does not depend on the Kyma.
func contentDigest(source client.Object) (string, error) {
	spec, err := SpecOf(source)
	if err != nil {
		return "", err
	}
	labels := remote.Merged(source.GetLabels(), nil)
	delete(labels, shared.LabelManagedBy)
	encoded, err := json.Marshal([]any{spec, labels, copiedAnnotations(source)})
	if err != nil {
		return "", fmt.Errorf("encode %s %s: %w", desired.KindOf(source), desired.NameOf(source), err)
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:16]), nil
}
