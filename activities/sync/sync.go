package sync

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/kyma-project/lifecycle-manager/activities/claim"
	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// SyncRemote makes the remote cluster of a Kyma as wanted, and takes in what its owner asks for: namespace,
// definitions, the remote Kyma, the module catalog, templates made by hand. A steady synchronization writes nothing.
func (a *Activities) SyncRemote(ctx context.Context, in Input) (Result, error) {
	began := time.Now()
	result, err := a.syncRemote(ctx, in)
	if first := (firstSyncError{}); errors.As(err, &first) && ctx.Err() == nil && isSaid(err, triesOf(ctx), time.Since(began)) {
		return result, fault.ToTemporalAtOnce(err)
	}
	return result, fault.ToTemporal(err)
}

// firstSyncError is the failure of a synchronization of a Kyma that has no status yet.
type firstSyncError struct{ error }

func (f firstSyncError) Unwrap() error { return f.error }

// impatience is how long the owner of a new Kyma is left without a word on what keeps it.
const impatience = 3 * time.Second

// isSaid tells whether a failure of the first synchronization is said to the owner before it is tried again: a Kyma has
// no status before, and a cluster may ask for minutes.
func isSaid(err error, tries int32, took time.Duration) bool {
	var known *fault.Error
	return tries > 1 || took > impatience || errors.As(err, &known) && known.RetryAfter > impatience
}

func triesOf(ctx context.Context) int32 {
	if !activity.IsActivity(ctx) {
		return 1
	}
	return activity.GetInfo(ctx).Attempt
}

func (a *Activities) syncRemote(ctx context.Context, in Input) (Result, error) {
	kyma, standing, err := claim.Look(ctx, a.controlPlane, a.settings, in.Ref)
	if err != nil {
		return Result{}, err
	}
	if err := a.known.AwaitSecrets(ctx, resolve.Seen(in.Seen)); err != nil {
		return Result{}, err
	}
	result, err := a.syncKyma(ctx, kyma, standing, in.Background)
	if err != nil && kyma.Status.State == shared.StateUnknown {
		err = firstSyncError{err}
	}
	return result, err
}

func (a *Activities) syncKyma(ctx context.Context, kyma *v1beta2.Kyma, standing claim.Standing, background bool) (Result, error) {
	switch standing {
	case claim.Gone:
		return Result{Outcome: OutcomeGone}, nil
	case claim.Deleting:
		return Result{Outcome: OutcomeDeleting}, nil
	case claim.NotOurs, claim.Copy, claim.Skipped:
		return Result{Outcome: OutcomeOff}, nil
	case claim.Ours:
	}
	s := desired.SyncOf(kyma, a.settings)
	if !s.Enabled {
		return Result{Outcome: OutcomeOff}, nil
	}
	if err := claim.Kyma(ctx, a.controlPlane, a.settings, kyma); err != nil {
		return Result{}, err
	}
	r, err := a.connect(ctx, kyma, s, background)
	if err != nil {
		return Result{}, err
	}
	result, err := a.synchronize(ctx, kyma, s, r)
	r.notePrepared(err == nil && !result.failedInPart())
	if err != nil {
		return Result{}, clusters.Classify(err)
	}
	return result, nil
}

func (a *Activities) synchronize(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r *remote) (Result, error) {
	result := Result{Outcome: OutcomeSynced, Cluster: string(r.uid), CatalogOff: !s.Catalog}
	first := !desired.Placed(kyma)
	if err := a.recordPlace(ctx, kyma, s, r); err != nil {
		return Result{}, err
	}
	fresh := freshNone
	if r.recognized == nil {
		err := a.ensureNamespace(ctx, r, s.Namespace, first)
		if err != nil {
			return Result{}, err
		}
		fresh, err = a.ensureDefinitions(ctx, r)
		if result.Definitions, err = part(err, ReasonDefinition); err != nil {
			return Result{}, err
		}
	}
	var early <-chan catalogReading
	if fresh == freshSome {
		// An API server makes the first requests for a new definition wait for a second or two. They wait
		// together.
		early = readCatalogEarly(ctx, r, s.Namespace)
	}
	copied, err := a.ensureRemoteKyma(ctx, kyma, s, r, fresh != freshNone)
	var read catalogReading
	if early != nil {
		read = <-early
	}
	if err != nil {
		if !result.Definitions.IsZero() && kindMissing(err) {
			// The remote Kyma cannot be there without its definition: that is what has to be mended.
			return Result{}, &fault.Error{Kind: result.Definitions.Kind, Reason: result.Definitions.Reason,
				Message: result.Definitions.Message, Cause: err}
		}
		return Result{}, err
	}
	if result.AcceptedChange, result.Invalid, err = a.takeIn(ctx, kyma, copied); err != nil {
		return Result{}, err
	}
	if s.MoveTo != nil && kyma.Status.Remote.MovingFrom == nil && desired.TakenIn(kyma) {
		s, err = a.move(ctx, kyma, s, r)
		if result.Move, err = part(err, ReasonMove); err != nil {
			return Result{}, err
		}
		early = nil // it is of the old place
	}
	if early == nil && fresh != freshAll {
		read.there, read.err = readCatalog(ctx, r, s.Namespace)
	}
	result.PullSecret, err = part(a.ensurePullSecret(ctx, kyma, s, r), ReasonPullSecret)
	if err != nil {
		return Result{}, err
	}
	err = a.ensureCatalog(ctx, kyma, s, r, read)
	if result.Catalog, err = part(err, ReasonCatalog); err != nil {
		return Result{}, err
	}
	taken, err := a.takeInTemplates(ctx, kyma, s, r, read.there)
	if result.Templates, err = part(err, ReasonRemoteTemplate); err != nil {
		return Result{}, err
	}
	if result.Move.IsZero() {
		if result.Move, err = part(a.endMove(ctx, kyma, s, r), ReasonMove); err != nil {
			return Result{}, err
		}
	}
	result.Refused, result.TakenIn = taken.refused, taken.versions
	result.Writes = r.writes
	return result, nil
}

// part turns the failure of a part into a fault beside the result, so that the rest goes on. A cluster that
// does not answer, and an activity that is to stop, are no failures of a part.
func part(err error, reason string) (fault.Fault, error) {
	if err == nil {
		return fault.Fault{}, nil
	}
	err = clusters.Classify(err)
	f := fault.Of(err)
	if f.Kind == fault.Unreachable || f.Reason == clusters.ReasonAccessChanged || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fault.Fault{}, err
	}
	if f.Reason == "Error" {
		f.Reason = reason
	}
	return f, nil
}
