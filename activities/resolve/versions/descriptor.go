package versions

import (
	"encoding/json"

	"github.com/kyma-project/lifecycle-manager/activities/descriptor"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Descriptor is what is needed of a component descriptor.
type Descriptor = descriptor.Descriptor

// ErrDescriptor is wrapped by every error about a descriptor that cannot be used as it is.
var ErrDescriptor = descriptor.ErrInvalid

// ParseDescriptor parses and validates a component descriptor. The error wraps ErrDescriptor.
func ParseDescriptor(raw []byte) (*Descriptor, error) { return descriptor.Parse(raw) }

// embeddedVersion is the component version in a template's embedded descriptor, read without validation.
func embeddedVersion(template *v1beta2.ModuleTemplate) string {
	if template.Spec.Descriptor == nil || len(template.Spec.Descriptor.Raw) == 0 {
		return ""
	}
	var head struct {
		Component struct {
			Version string `json:"version"`
		} `json:"component"`
		Metadata struct {
			Version string `json:"version"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(template.Spec.Descriptor.Raw, &head); err != nil {
		return "" // reported where the descriptor is used
	}
	if head.Component.Version != "" {
		return head.Component.Version
	}
	return head.Metadata.Version
}
