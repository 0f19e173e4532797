package bundle

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
)

// versionSeparator separates the digest of the rendered object from the version of the Secret that its data comes
// from.
const versionSeparator = "-"

// asksForData reports whether an object asks for the data of a Secret in the control plane.
func asksForData(kind schema.GroupKind, annotations map[string]string) bool {
	return kind == schema.GroupKind{Kind: "Secret"} && annotations[shared.AnnotationInjectData] == shared.ValueTrue
}

// Injected returns a copy of a Secret with other data. The version of the data becomes part of the digest, so that
// changed data is applied. The digest does not depend on the data itself, because others can read the digest.
func (o *Object) Injected(data map[string][]byte, version string) (*Object, error) {
	var u unstructured.Unstructured
	if err := json.Unmarshal(o.Body.text(), &u.Object); err != nil {
		return nil, fmt.Errorf("decode Secret %s: %w", o.name, err)
	}
	if data == nil {
		data = map[string][]byte{} // null would leave the live data unchanged
	}
	injected := *o
	injected.Digest += versionSeparator + version
	u.Object["data"] = data // json.Marshal encodes it with base64
	delete(u.Object, "stringData")
	if err := unstructured.SetNestedField(u.Object, injected.Digest, kinds.PathMetadata, kinds.PathAnnotations, shared.AnnotationAppliedDigest); err != nil {
		return nil, fmt.Errorf("mark Secret %s: %w", o.name, err)
	}
	encoded, err := json.Marshal(u.Object)
	if err != nil {
		return nil, fmt.Errorf("encode Secret %s: %w", o.name, err)
	}
	injected.Body = newTemplate(encoded)
	return &injected, nil
}

// InjectedVersion returns the version of the data that was injected into a live object, and whether the object asks
// for data, according to its annotations. The version is empty if no data was injected.
func InjectedVersion(kind schema.GroupKind, annotations map[string]string) (version string, asks bool) {
	_, version, _ = strings.Cut(annotations[shared.AnnotationAppliedDigest], versionSeparator)
	return version, asksForData(kind, annotations)
}
