package background

import (
	"context"

	"go.temporal.io/sdk/activity"

	"github.com/kyma-project/lifecycle-manager/activities/logkey"
	"github.com/kyma-project/lifecycle-manager/activities/status"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
)

// Cleaner is the step that removes what is ours in a remote cluster; *sync.Activities is one.
type Cleaner interface {
	CleanupRemote(ctx context.Context, in syncing.CleanupInput) (syncing.Result, error)
}

// Releaser is the step that removes the finalizer of a Kyma; *status.Activities is one.
type Releaser interface {
	ReleaseKyma(ctx context.Context, in status.ReleaseInput) (status.ReportResult, error)
}

// CleanUpResult is what the steps did.
type CleanUpResult struct {
	Cleaned syncing.Result `json:"cleaned"`
	// Released is nil if that step failed: it is then to be taken by itself.
	Released *status.ReportResult `json:"released,omitempty"`
}

// CleanUpAndRelease removes what is ours in the remote cluster of a Kyma under deletion, and then the Kyma's finalizer. Its error is
// that of the clean-up.
func (a *Activities) CleanUpAndRelease(ctx context.Context, in syncing.CleanupInput) (CleanUpResult, error) {
	cleaned, err := a.cleaner.CleanupRemote(ctx, in)
	result := CleanUpResult{Cleaned: cleaned}
	if err != nil {
		return result, err
	}
	released, err := a.releaser.ReleaseKyma(ctx, status.ReleaseInput{Ref: in.Ref, Seen: in.Seen})
	if err != nil {
		activity.GetLogger(ctx).Debug("the Kyma could not be released, the step is taken by itself", logkey.Error, err)
		return result, nil
	}
	result.Released = &released
	return result, nil
}
