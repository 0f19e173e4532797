// Package rotate provides the activity that keeps certificates valid. Package certificates does the work.
package rotate

import (
	"context"

	"github.com/kyma-project/lifecycle-manager/internal/events/certificates"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// Activities rotates certificates and the authorities that sign them.
type Activities struct {
	rotation *certificates.Rotation
}

// New returns the activities.
func New(rotation *certificates.Rotation) *Activities { return &Activities{rotation: rotation} }

// Input is the input of RotateCertificates. It is empty because the state of a rotation is in the control plane.
type Input struct{}

// RotateCertificates takes all steps of a rotation that are due. It is safe to run again after any step.
func (a *Activities) RotateCertificates(ctx context.Context, _ Input) (certificates.Rotated, error) {
	result, err := a.rotation.Rotate(ctx)
	return result, fault.ToTemporal(err)
}
