package manifests

import (
	"context"
	"time"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// reasonUnreachable is the reason in the last operation of a module with an unreachable cluster.
const reasonUnreachable = "ClusterUnreachable"

// MarkUnreachable sets the state of a Manifest to Error because its cluster has been unreachable since a time, and
// keeps the last known state. A Manifest that is already in Error keeps its reason. Conditions stay, because nothing
// newer is known. MarkUnreachable notifies nobody, because the Kyma's status already says that the cluster is
// unreachable.
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

// MarkReachable restores the state of a Manifest after its cluster was reached and its module was found unchanged. It
// does so only for a module that was Ready and settled, because only a reconcile can tell the cause of any other
// state.
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
