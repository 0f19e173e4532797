package status

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/kymas"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/planning"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// ReportKyma aggregates the states of a Kyma's modules and writes the Kyma's status and its remote copy. It writes
// nothing if both are up to date.
func (a *Activities) ReportKyma(ctx context.Context, in ReportInput) (ReportResult, error) {
	result, err := a.reportKyma(ctx, in)
	if apierrors.IsConflict(err) {
		return a.reportKyma(ctx, in) // this time the Kyma is read live
	}
	return result, err
}

func (a *Activities) reportKyma(ctx context.Context, in ReportInput) (ReportResult, error) {
	seen := in.Seen
	if len(in.Faults) > 0 {
		seen = nil // a failed step may have written more than it reported
	}
	kyma, ownership, err := kymas.ReadNext(ctx, a.Known, a.ControlPlane, a.Settings, in.Ref, seen)
	if err != nil {
		return ReportResult{}, err
	}
	switch ownership {
	case kymas.Gone, kymas.NotOurs, kymas.Copy:
		return ReportResult{Outcome: OutcomeGone}, nil
	case kymas.Skipped:
		return a.reportSkipped(ctx, kyma)
	case kymas.Ours, kymas.Deleting:
	}
	o := observation{kyma: kyma, in: in, now: a.Now(), pullSecret: a.Settings.ImagePullSecret != "", watching: a.Settings.Watching.Enabled()}
	all, err := a.manifests(ctx, kyma, in)
	if err != nil {
		return ReportResult{}, err
	}
	own, foreign := all.Own, all.Foreign
	o.manifests = own
	o.purge, o.purgeProblem = desired.PurgeTime(kyma, a.Settings.Purge)
	if ownership == kymas.Deleting {
		o.view = removalView(kyma, a.Settings, own)
	} else if o.view, err = a.Planner.View(ctx, kyma, own, foreign, slices.Concat(in.Imported, in.Seen)); err != nil {
		return ReportResult{}, fmt.Errorf("plan the modules of Kyma %s: %w", in.Ref, err)
	}
	before := kyma.DeepCopy()
	kyma.Status = next(o)
	changed, err := a.write(ctx, before, kyma, eventDetails{reasons: refusals(o.view), of: o.worst().Reason, held: o.held(), orphans: orphans(foreign)})
	if err != nil {
		return ReportResult{}, err
	}
	a.record(kyma, purgeEvents(before.Status, kyma.Status, o.purgeProblem))
	a.record(kyma, editEvents(before.Status, kyma.Status, o.view.Sync))
	var pushed bool
	var failed fault.Fault
	if in.Push {
		if pushed, failed, err = a.pushAndNote(ctx, o, changed); err != nil {
			return ReportResult{}, err
		}
	}
	result := summary(kyma)
	result.Deleting = ownership == kymas.Deleting
	if ownership == kymas.Ours {
		result.NeedsReconcile, result.ReconcileAt = a.needsReconcile(kyma, o.view, in.ManifestGone)
	}
	result.Pushed, result.Push = pushed, failed
	return result, nil
}

// manifests returns the Manifests of the Kyma, at least as new as the report's input. If a Manifest has changed since,
// its own kick follows. A removal, and a Manifest that was just deleted, show only in a live read.
func (a *Activities) manifests(ctx context.Context, kyma *v1beta2.Kyma, in ReportInput) (fleet.Manifests, error) {
	if in.Deleted || !kyma.DeletionTimestamp.IsZero() {
		return a.Known.LiveManifests(ctx, kyma)
	}
	return a.Known.Manifests(ctx, kyma, in.Seen)
}

// reportSkipped writes that a Kyma is skipped, and nothing else. It does not read the states of the modules.
func (a *Activities) reportSkipped(ctx context.Context, kyma *v1beta2.Kyma) (ReportResult, error) {
	before := kyma.DeepCopy()
	kyma.Status.LastOperation = v1beta2.NextLastOperation(kyma.Status.LastOperation, shared.OperationSkipped, seconds(a.Now()))
	kyma.Status.InputsDigest, kyma.Status.RemovalHeldSince = skippedDigest, nil
	if _, err := a.write(ctx, before, kyma, eventDetails{}); err != nil {
		return ReportResult{}, err
	}
	return summary(kyma), nil
}

// skippedDigest stands for inputs that were not read. It differs from every real digest, so a reconcile follows when the
// label is removed.
const skippedDigest = "skipped"

// removalView returns the view of a Kyma under deletion, in which no module is wanted.
func removalView(kyma *v1beta2.Kyma, settings desired.Settings, manifests []v1beta2.Manifest) resolve.View {
	return resolve.View{
		Sync: desired.SyncOf(kyma, settings), Wanted: desired.Wanted{Complete: true},
		Plans: planning.Plans{Unwanted: lists.Pointers(manifests)},
	}
}

// orphans returns the names of Manifests that an earlier Kyma with this name left when it was deleted with
// `--cascade=orphan`.
func orphans(foreign []v1beta2.Manifest) map[string]bool {
	names := map[string]bool{}
	for i := range foreign {
		if desired.IsOrphan(&foreign[i]) {
			names[foreign[i].Name] = true
		}
	}
	return names
}

// needsReconcile reports whether another reconcile is due, and when. The zero time means immediately. Otherwise it is the
// Kyma's turn in a paced change. If somebody removed a Manifest, the reconcile does not wait for that turn.
func (a *Activities) needsReconcile(kyma *v1beta2.Kyma, view resolve.View, manifestGone bool) (bool, time.Time) {
	if !view.Wanted.Complete {
		return false, time.Time{} // unknown while the remote Kyma was never accepted
	}
	manifests := manifestsDiffer(view)
	paced := desired.OnlySharedChanged(kyma.Status.InputsDigest, view.InputsDigest)
	if paced && (!manifests || !manifestGone) {
		if delay := desired.PacingDelay(kyma.UID, view.InputsDigest, a.Settings.PacingSpan); delay > 0 {
			return true, a.Now().Add(delay)
		}
	}
	return manifests || view.InputsDigest != kyma.Status.InputsDigest, time.Time{}
}

// manifestsDiffer reports whether a Manifest is missing or must be removed.
func manifestsDiffer(view resolve.View) bool {
	for _, plan := range append(slices.Clone(view.Modules), view.Mandatory...) {
		if plan.Action == planning.ActionCreate || plan.Action == planning.ActionRemove {
			return true
		}
	}
	for _, obsolete := range view.Obsolete {
		if obsolete.Guarded == nil && obsolete.Manifest.DeletionTimestamp.IsZero() && !obsolete.Manifest.IsSkipReconciliation() {
			return true
		}
	}
	return slices.ContainsFunc(view.Unwanted, func(manifest *v1beta2.Manifest) bool {
		return manifest.DeletionTimestamp.IsZero() && !manifest.IsSkipReconciliation()
	})
}

func summary(kyma *v1beta2.Kyma) ReportResult {
	result := ReportResult{Outcome: OutcomeReported, State: kyma.Status.State, Channel: cmp.Or(kyma.Status.ActiveChannel, kyma.Spec.EffectiveChannel())}
	if operation := kyma.Status.LastOperation; operation != nil {
		result.Message = operation.Operation
	}
	for _, module := range kyma.Status.Modules {
		result.Modules = append(result.Modules, Module{
			Name: module.Name, Version: module.Version, State: module.State, Message: module.Message,
		})
	}
	return result
}
