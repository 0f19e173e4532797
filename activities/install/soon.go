package install

import (
	"context"
	"time"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// startsWithin is when workloads that were just applied are looked at first: none is available at once.
const startsWithin = 300 * time.Millisecond

// judgeSoon says how a module is right after it was applied, where it becomes ready within a moment: then its state is
// written together with what was applied, and nobody has to wait for it. Anything else is for the wait to find out.
func (a *Activities) judgeSoon(ctx context.Context, job *installation, applied *outcomes, gone map[string]bool) (Observed, bool) {
	m := job.manifest.DeepCopy()
	setInventory(&m.Status, record(m.Status.Inventory, applied.entries, gone))
	m.Status.Corrections = nextCorrections(m.Status.Corrections, job.repair.losses(), a.now())
	begin := time.Duration(0)
	for _, stage := range job.plan.stages {
		for _, p := range stage {
			if runsPods(p.object.gvk.GroupKind()) {
				begin = startsWithin
			}
		}
	}
	within := a.options.ReadyWithin
	for _, wait := range []time.Duration{begin, within - begin} {
		if begin > within || pause(ctx, wait) != nil || time.Now().After(job.until) {
			break
		}
		observed, err := observe(ctx, job.cluster, m, job.remoteNamespace, a.options.Clock(), a.options.StuckWorkloadTimeout)
		switch {
		case err != nil, observed.DefaultCRWanted:
			return Observed{}, false
		case observed.State == shared.StateReady, observed.State == shared.StateWarning:
			return observed, true
		case observed.State != shared.StateProcessing:
			return Observed{}, false
		}
	}
	return Observed{}, false
}
