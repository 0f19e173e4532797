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

// versionSeparator is between the digest of an object as rendered and the version of the Secret whose data it has.
const versionSeparator = "-"

// asksForData reports whether an object asks for the data of a Secret in the control plane.
func asksForData(kind schema.GroupKind, annotations map[string]string) bool {
	return kind == schema.GroupKind{Kind: "Secret"} && annotations[shared.AnnotationInjectData] == shared.ValueTrue
}

// Injected returns a Secret with other data. The version of that data becomes a part of the digest, so that other data is
// applied; the digest is not made of the data, because others can read it.
func (o *Object) Injected(data map[string][]byte, version string) (*Object, error) {
	var u unstructured.Unstructured
	if err := json.Unmarshal(o.Body.text(), &u.Object); err != nil {
		return nil, fmt.Errorf("decode Secret %s: %w", o.name, err)
	}
	if data == nil {
		data = map[string][]byte{} // as null it would say nothing about the data that is there
	}
	injected := *o
	injected.Digest += versionSeparator + version
	u.Object["data"] = data // is encoded with base64
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

// InjectedVersion returns the version of the data that a live object got, by its annotations, and whether it asks for any.
// Without data of the control plane, the version is empty.
func InjectedVersion(kind schema.GroupKind, annotations map[string]string) (version string, asks bool) {
	_, version, _ = strings.Cut(annotations[shared.AnnotationAppliedDigest], versionSeparator)
	return version, asksForData(kind, annotations)
}
