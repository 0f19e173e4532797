package sweep

import (
	"context"
	"slices"

	"go.temporal.io/sdk/activity"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/modules/drift"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
)

// If a cluster cannot be reached, the Kyma's status shows its modules as Error immediately. The Manifests follow here at
// the pace of the sweep. Otherwise a network failure would cost a write for each module of the fleet at the same moment.

// markUnreachable sets the Manifests of a Kyma with an unreachable cluster to Error.
func (w *walk) markUnreachable(ctx context.Context, kyma *v1beta2.Kyma, modules []v1beta2.Manifest) {
	since := kyma.Status.Remote.Since
	if since == nil {
		return
	}
	for i := range modules {
		m := &modules[i]
		if desired.InControlPlane(m) || !m.IsMaintained() || m.Status.State == shared.StateError || m.Status.State == shared.StateUnknown {
			continue // an error of the module itself keeps its message
		}
		w.mark(ctx, m, func() error { return w.options.Marks.MarkUnreachable(ctx, kick.RefOf(m), since.Time) })
	}
}

// markReachable restores the states of Manifests whose modules have not changed meanwhile.
func (w *walk) markReachable(ctx context.Context, seen []*v1beta2.Manifest, differences []drift.Difference) {
	for _, m := range seen {
		differs := slices.ContainsFunc(differences, func(d drift.Difference) bool { return d.Manifest == m })
		if m.Status.LastKnownState == "" || differs {
			continue
		}
		w.mark(ctx, m, func() error { return w.options.Marks.MarkReachable(ctx, kick.RefOf(m)) })
	}
}

func (w *walk) mark(ctx context.Context, m *v1beta2.Manifest, write func() error) {
	if err := w.options.KickLimit.Wait(ctx); err != nil {
		return
	}
	if err := write(); err != nil {
		activity.GetLogger(ctx).Warn("sweep: cannot write a Manifest's state; the next pass tries again",
			logkey.EntityWorkflowID, kick.KymaWorkflowID(manifests.KymaRefOf(m)), logkey.Error, err)
	}
}
