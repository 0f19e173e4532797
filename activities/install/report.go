package install

import (
	"context"

	"go.temporal.io/sdk/activity"

	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
)

// ReportManifest writes the observed state of the module into the Manifest's status. See manifests.Steps.Report.
func (a *Activities) ReportManifest(ctx context.Context, in manifests.ReportInput) (manifests.ReportResult, error) {
	return a.steps.Report(ctx, in, isFirstAttempt(ctx))
}

// isFirstAttempt reports whether no earlier attempt can have written anything. An activity from a task queue follows an
// attempt as a local activity (workflows/internal/entity), so it is never the first.
func isFirstAttempt(ctx context.Context) bool {
	if !activity.IsActivity(ctx) {
		return true
	}
	info := activity.GetInfo(ctx)
	return info.IsLocalActivity && info.Attempt == 1
}
