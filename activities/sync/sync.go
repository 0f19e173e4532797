package sync

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/catalog"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/definitions"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/imports"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/kymas"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/remote"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// SyncRemote brings the remote cluster of a Kyma into its desired state and accepts what its owner asks for. It keeps the
// namespace, the CRDs, the remote Kyma, the agent's certificate, the image pull Secret, the module catalog, and the
// imports of user-provided templates. If nothing changed, it writes nothing.
func (a *Activities) SyncRemote(ctx context.Context, in Input) (Result, error) {
	began := time.Now()
	result, err := a.syncRemote(ctx, in)
	if first := (firstSyncError{}); errors.As(err, &first) && ctx.Err() == nil && reportsAtOnce(err, attemptOf(ctx), time.Since(began)) {
		return result, fault.ToTemporalAtOnce(err)
	}
	return result, fault.ToTemporal(err)
}

// firstSyncError is a failed synchronization of a Kyma that has no status yet.
type firstSyncError struct{ error }

func (f firstSyncError) Unwrap() error { return f.error }

// firstReportAfter is the time after which the owner of a new Kyma is informed about a delay.
const firstReportAfter = 3 * time.Second

// reportsAtOnce reports whether a failed first synchronization is reported to the owner before the next attempt. The Kyma
// has no status yet, and a cluster may ask for a wait of minutes.
func reportsAtOnce(err error, tries int32, took time.Duration) bool {
	var known *fault.Error
	return tries > 1 || took > firstReportAfter || errors.As(err, &known) && known.RetryAfter > firstReportAfter
}

func attemptOf(ctx context.Context) int32 {
	if !activity.IsActivity(ctx) {
		return 1
	}
	return activity.GetInfo(ctx).Attempt
}

func (a *Activities) syncRemote(ctx context.Context, in Input) (Result, error) {
	kyma, ownership, err := kymas.ReadFirst(ctx, a.Known, a.ControlPlane, a.Settings, in.Ref)
	if err != nil {
		return Result{}, err
	}
	if err := a.Known.AwaitSecrets(ctx, in.Seen); err != nil {
		return Result{}, err
	}
	if ownership == kymas.Gone {
		left, err := a.Known.LeftBy(ctx, in.Ref, in.Seen)
		return Result{Outcome: OutcomeGone, Left: left}, err
	}
	result, err := a.syncKyma(ctx, kyma, ownership, in.Background)
	if err != nil && kyma.Status.State == shared.StateUnknown {
		err = firstSyncError{err}
	}
	return result, err
}

func (a *Activities) syncKyma(ctx context.Context, kyma *v1beta2.Kyma, ownership kymas.Ownership, background bool) (Result, error) {
	if ownership == kymas.Deleting {
		return Result{Outcome: OutcomeDeleting}, nil
	}
	s := desired.SyncOf(kyma, a.Settings)
	if ownership != kymas.Ours || !s.Enabled {
		return Result{Outcome: OutcomeOff}, nil
	}
	if err := kymas.AddFinalizer(ctx, a.ControlPlane, a.Settings, kyma); err != nil {
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
	result.Kyma = kymas.Keep(a.Known, kyma)
	return result, nil
}

func (a *Activities) synchronize(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r *session) (Result, error) {
	result := Result{Outcome: OutcomeSynced, Cluster: string(r.UID), CatalogOff: !s.Catalog}
	first := !desired.Placed(kyma)
	if err := a.recordPlace(ctx, kyma, s, r); err != nil {
		return Result{}, err
	}
	fresh := definitions.CreatedNone
	if r.recognized == nil {
		err := a.ensureNamespace(ctx, r, s.Namespace, first)
		if err != nil {
			return Result{}, err
		}
		fresh, err = a.definitions.Ensure(ctx, r.Cluster)
		err = result.note(fault.PartDefinitions, err, definitions.ReasonNotSynced)
		if err != nil {
			return Result{}, err
		}
	}
	var early <-chan catalog.Reading
	if fresh == definitions.CreatedSome {
		// An API server delays the first requests for a new CRD by a second or two. Send them in parallel.
		early = catalog.ReadEarly(ctx, r, s.Namespace)
	}
	copied, err := a.ensureRemoteKyma(ctx, kyma, s, r, fresh != definitions.CreatedNone)
	var read catalog.Reading
	if early != nil {
		read = <-early
	}
	if err != nil {
		if f := result.Faults[fault.PartDefinitions]; !f.IsZero() && remote.KindMissing(err) {
			// The remote Kyma cannot exist without its CRD, so the CRD's fault is the one to fix.
			return Result{}, &fault.Error{Kind: f.Kind, Reason: f.Reason, Message: f.Message, Cause: err}
		}
		return Result{}, err
	}
	var invalid fault.Fault
	if result.AcceptedChange, invalid, err = a.accept(ctx, kyma, copied); err != nil {
		return Result{}, err
	}
	result.Faults = result.Faults.With(fault.PartInvalid, invalid)
	if s.MoveTo != nil && kyma.Status.Remote.MovingFrom == nil && desired.IsAccepted(kyma) {
		s, err = a.move(ctx, kyma, s, r)
		err = result.note(fault.PartMove, err, ReasonMove)
		if err != nil {
			return Result{}, err
		}
		early = nil // the early read was for the old place
	}
	if early == nil && fresh != definitions.CreatedAll {
		read.Lists, read.Err = catalog.Read(ctx, r, s.Namespace)
	}
	if err := result.note(fault.PartAgent, a.ensureAgent(ctx, kyma, s, r), a.agentReason()); err != nil {
		return Result{}, err
	}
	if err := result.note(fault.PartPullSecret, a.ensurePullSecret(ctx, kyma, s, r), ReasonPullSecret); err != nil {
		return Result{}, err
	}
	if err := result.note(fault.PartCatalog, a.catalogs.Ensure(ctx, kyma, s, r.Cluster, read), catalog.ReasonNotSynced); err != nil {
		return Result{}, err
	}
	imported, err := a.imports.Import(ctx, kyma, s, r.Cluster, read.Lists)
	if err := result.note(fault.PartTemplates, err, imports.ReasonNotImported); err != nil {
		return Result{}, err
	}
	if result.Faults[fault.PartMove].IsZero() {
		if err := result.note(fault.PartMove, a.endMove(ctx, kyma, s, r), ReasonMove); err != nil {
			return Result{}, err
		}
	}
	result.Refused, result.Imported = imported.Refused, imported.Versions
	result.Writes = r.Writes
	return result, nil
}

// note turns the failure of a part into a fault in the result, so that the other parts continue. If the cluster does not
// answer, or the activity must stop, note returns the error instead. An error of unknown kind gets the given reason.
func (r *Result) note(part fault.Part, err error, reason string) error {
	if err == nil {
		return nil
	}
	err = clusters.Classify(err)
	f := fault.Of(err)
	if f.Kind == fault.Unreachable || f.Reason == clusters.ReasonAccessChanged || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if f.Reason == "Error" {
		f.Reason = reason
	}
	r.Faults = r.Faults.With(part, f)
	return nil
}
