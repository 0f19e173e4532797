package install

import (
	"context"
	"time"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/apply"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
)

// startsWithin is the delay before newly applied workloads are first read, because no workload is available immediately.
const startsWithin = 300 * time.Millisecond

// judgeSoon returns the state of a module right after the apply, if the module becomes ready within a moment. Its state
// is then written together with the result of the apply, and no wait is needed. FollowModules handles everything else.
func (a *Activities) judgeSoon(ctx context.Context, job *apply.Installation, applied *apply.Outcomes, gone map[string]bool) (readiness.Observed, bool) {
	m := job.Manifest.DeepCopy()
	inventory.SetInventory(&m.Status, inventory.Record(m.Status.Inventory, applied.Entries, gone))
	m.Status.Corrections = job.Repair.NextCorrections(m.Status.Corrections, a.steps.Now())
	begin := time.Duration(0)
	for _, stage := range job.Plan.Stages {
		for _, p := range stage {
			if kinds.RunsPods(p.Object.GVK.GroupKind()) {
				begin = startsWithin
			}
		}
	}
	within := a.Options.ReadyWithin
	for _, wait := range []time.Duration{begin, within - begin} {
		if begin > within || objects.Sleep(ctx, wait) != nil || time.Now().After(job.Until) {
			break
		}
		observed, err := readiness.Observe(ctx, job.Cluster, m, a.observing(m))
		switch {
		case err != nil, observed.DefaultCRWanted:
			return readiness.Observed{}, false
		case observed.State == shared.StateReady, observed.State == shared.StateWarning:
			return observed, true
		case observed.State != shared.StateProcessing:
			return readiness.Observed{}, false
		}
	}
	return readiness.Observed{}, false
}
