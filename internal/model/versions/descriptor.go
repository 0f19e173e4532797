package versions

import (
	"github.com/kyma-project/lifecycle-manager/internal/registry/descriptor"
)

// Descriptor is a parsed component descriptor, see package descriptor.
type Descriptor = descriptor.Descriptor

// ErrDescriptor is wrapped by every error about an invalid descriptor.
var ErrDescriptor = descriptor.ErrInvalid

// ParseDescriptor parses and validates a component descriptor. The error wraps ErrDescriptor.
func ParseDescriptor(raw []byte) (*Descriptor, error) { return descriptor.Parse(raw) }
