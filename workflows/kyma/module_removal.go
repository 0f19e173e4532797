package kyma

import (
	"cmp"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/kyma-project/lifecycle-manager/activities/uninstall"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/attempts"
)

// remove runs one pass of the removal. A purge interrupts it.
func (m *moduleRun) remove(ctx workflow.Context) error {
	_, started := m.Start(ctx)
	m.does(ctx, "removing the module")
	m.state.Deleting = true
	removeCtx, cancel := workflow.WithCancel(attempts.Writing(ctx, kick.RemoteQueue, m.Why("remove "+m.name())))
	defer cancel()
	future := workflow.ExecuteActivity(removeCtx, m.uninstall.RemoveManifest, uninstall.RemoveInput{Ref: m.Ref, Reported: m.state.Reported})
	if err := m.AwaitUnless(ctx, future, cancel, func() bool { return m.Box.Pending.Purge }); err != nil {
		return err
	}
	var res uninstall.RemoveResult
	err := future.Get(ctx, &res)
	if temporal.IsCanceledError(err) {
		if ctx.Err() != nil {
			return err
		}
		m.state.Phase = phaseRemove
		m.EndPart(ctx, started)
		return nil
	}
	if err != nil {
		return m.failed(ctx, started, fault.FromTemporal(err))
	}
	m.kyma.tell(res.Kick)
	switch res.Outcome {
	case manifests.OutcomeWaiting:
		m.state.Phase = phaseFollowRemoval
		if !res.Observed.SameAs(m.state.Reported) {
			failure, err := m.report(ctx, res.Observed, false)
			if err != nil {
				return err
			}
			if !failure.IsZero() {
				m.state.Phase = phaseRest
				m.End(ctx, started, failure)
				return nil
			}
		}
	case manifests.OutcomeRefused:
		return m.finishReconcile(ctx, started, fault.Fault{}, res.Observed, true, phaseEnded)
	case manifests.OutcomeApplied:
		// A kick named a deletion timestamp, but this Manifest has none.
		m.state.Phase, m.state.Deleting = phaseReconcile, false
	case manifests.OutcomeGone, manifests.OutcomeRemoved:
		m.state.Phase = phaseEnded
		m.tellRemoval("Manifest was removed")
	default:
		m.state.Phase = phaseEnded
	}
	m.EndStep(ctx, started)
	return nil
}

// tellRemoval lets the removal of the Kyma continue after the module was removed.
func (m *moduleRun) tellRemoval(reason string) {
	if m.kyma.state.Deleting {
		m.kyma.Box.Put(kick.Kick{
			Reason: reason, Kind: shared.KindOfInstallation(m.Ref.Name), Namespace: m.Ref.Namespace, Name: m.Ref.Name, Urgent: true,
		})
	}
}

// followRemoval waits until another pass of the removal can make progress.
func (m *moduleRun) followRemoval(ctx workflow.Context) error {
	m.waits(ctx, cmp.Or(m.state.Reported.Message, "the module to be removed"))
	var seen uninstall.RemoveResult
	interrupted, err := m.await(ctx, m.Why("wait for the removal of "+m.name()), &seen, func(ctx workflow.Context) workflow.Future {
		return workflow.ExecuteActivity(ctx, m.uninstall.WaitRemoval, uninstall.RemoveInput{Ref: m.Ref, Reported: m.state.Reported})
	})
	if interrupted {
		return err
	}
	if err != nil {
		return m.failed(ctx, workflow.Now(ctx), fault.FromTemporal(err))
	}
	m.Attempt, m.state.Phase = 0, phaseRemove
	return nil
}
