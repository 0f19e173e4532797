package v1beta2

import (
	"bytes"

	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
)

// ErrDefaultCR is wrapped by every error about an unusable default custom
// resource. The remedy is to edit the ModuleTemplate.
var ErrDefaultCR = errors.New("invalid default custom resource")

// DefaultCR returns the default custom resource of the module, without status, or
// nil if there is none (`data` unset, null or {}). The caller owns the result.
// The error wraps ErrDefaultCR.
func (s *ModuleTemplateSpec) DefaultCR() (*unstructured.Unstructured, error) {
	return parseDefaultCR(s.Data)
}

// DefaultCR returns the default custom resource of the module, without status, or
// nil if there is none. The caller owns the result. The error wraps ErrDefaultCR.
func (s *ManifestSpec) DefaultCR() (*unstructured.Unstructured, error) {
	return parseDefaultCR(s.Resource)
}

// parseDefaultCR does not use the decoder of unstructured.Unstructured, because
// that decoder refuses an empty object, which the API allows.
func parseDefaultCR(raw *runtime.RawExtension) (*unstructured.Unstructured, error) {
	if raw == nil || len(bytes.TrimSpace(raw.Raw)) == 0 {
		return nil, nil
	}
	var content map[string]any
	if err := json.Unmarshal(raw.Raw, &content); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDefaultCR, err)
	}
	if len(content) == 0 {
		return nil, nil
	}
	object := &unstructured.Unstructured{Object: content}
	if object.GetAPIVersion() == "" || object.GetKind() == "" {
		return nil, fmt.Errorf("%w: apiVersion and kind must be given", ErrDefaultCR)
	}
	unstructured.RemoveNestedField(object.Object, "status")
	return object, nil
}
