package versions

import (
	"github.com/kyma-project/lifecycle-manager/internal/registry/descriptor"
)

// Descriptor is what is needed of a component descriptor.
type Descriptor = descriptor.Descriptor

// ErrDescriptor is wrapped by every error about a descriptor that cannot be used as it is.
var ErrDescriptor = descriptor.ErrInvalid

// ParseDescriptor parses and validates a component descriptor. The error wraps ErrDescriptor.
func ParseDescriptor(raw []byte) (*Descriptor, error) { return descriptor.Parse(raw) }
