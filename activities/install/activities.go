package install

import (
	"context"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// ApplyManifest takes one look at the Manifest and installs or upgrades what it names.
func (a *Activities) ApplyManifest(ctx context.Context, in ApplyInput) (ApplyResult, error) {
	return ApplyResult{}, fault.ToTemporal(nil)
}

// WaitManifest returns as soon as what it sees of the module differs from what was last reported.
func (a *Activities) WaitManifest(ctx context.Context, in WaitInput) (Observed, error) {
	return Observed{}, nil
}

// EnsureDefaultCR makes the default custom resource, or adopts it.
func (a *Activities) EnsureDefaultCR(ctx context.Context, in WaitInput) (Observed, error) {
	return Observed{}, nil
}

// ReportManifest writes what is said of the module into the Manifest's status and wakes the Kyma's workflow.
func (a *Activities) ReportManifest(ctx context.Context, in ReportInput) (ReportResult, error) {
	return ReportResult{}, nil
}

// RemoveManifest removes what it can without waiting long, and the finalizers last.
func (a *Activities) RemoveManifest(ctx context.Context, in RemoveInput) (RemoveResult, error) {
	return RemoveResult{}, nil
}

// WaitRemoval returns as soon as another pass of RemoveManifest makes sense.
func (a *Activities) WaitRemoval(ctx context.Context, in RemoveInput) (RemoveResult, error) {
	return RemoveResult{}, nil
}

// Probe says how a settled module is, in one cheap pass and without waiting.
func (a *Activities) Probe(ctx context.Context, manifest *v1beta2.Manifest) (Observed, error) {
	return Observed{}, nil
}
