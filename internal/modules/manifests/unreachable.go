package manifests

import (
	"context"
	"time"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// reasonUnreachable is the reason of the error of a module whose cluster cannot be reached.
const reasonUnreachable = "ClusterUnreachable"

// MarkUnreachable sets the state of a Manifest whose cluster has not been reachable since a time to Error, and keeps the last
// known state beside it. One that is in Error keeps the reason for that. Conditions stay: nobody knows better. It notifies nobody, since the status of the Kyma says so
// already.
func (a *Steps) MarkUnreachable(ctx context.Context, ref kick.Ref, since time.Time) error {
	m, err := a.Read(ctx, ref)
	if err != nil || m == nil || !m.DeletionTimestamp.IsZero() {
		return err
	}
	_, err = a.WriteStatus(ctx, m, func(s *v1beta2.ManifestStatus) {
		if s.State == shared.StateError || s.State == shared.StateUnknown {
			return
		}
		s.LastKnownState, s.State = s.State, shared.StateError
		s.LastOperation = v1beta2.NextLastOperation(s.LastOperation, shared.LastKnownState(s.LastKnownState, since), a.Now()).WithReason(reasonUnreachable)
	})
	return err
}

// MarkReachable gives a Manifest its state back, after its cluster was reached and its module was found as it had been. The
// module must have been Ready and settled: only a reconcile can tell what any other state was about.
func (a *Steps) MarkReachable(ctx context.Context, ref kick.Ref) error {
	m, err := a.Read(ctx, ref)
	if err != nil || m == nil || !m.DeletionTimestamp.IsZero() {
		return err
	}
	_, err = a.WriteStatus(ctx, m, func(s *v1beta2.ManifestStatus) {
		if s.LastKnownState != shared.StateReady || !s.Settled {
			return
		}
		SetObserved(m, s, readiness.Observed{State: shared.StateReady, Reason: readiness.ReasonReady, Message: readiness.MessageReady}, a.Now())
	})
	return err
}
