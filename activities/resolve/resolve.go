package resolve

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/kymas"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/origin"
	"github.com/kyma-project/lifecycle-manager/internal/model/planned"
	"github.com/kyma-project/lifecycle-manager/internal/model/planning"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
	"github.com/kyma-project/lifecycle-manager/internal/model/versions"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
	"github.com/kyma-project/lifecycle-manager/internal/platform/requeue"
)

// ResolveKyma reconciles the Manifests of a Kyma. If nothing changed, it writes nothing.
func (a *Activities) ResolveKyma(ctx context.Context, in Input) (Result, error) {
	result, err := a.resolveKyma(ctx, in)
	if apierrors.IsConflict(err) && !a.Known.IsLive() {
		// The informer or an earlier step had an old version. Read everything live this time.
		in.live = true
		return a.resolveKyma(ctx, in)
	}
	return result, err
}

func (a *Activities) resolveKyma(ctx context.Context, in Input) (Result, error) {
	kyma, outcome, err := outcomeOf(kymas.ReadNext(ctx, a.Known, a.ControlPlane, a.Settings, in.Ref, in.Seen))
	if err != nil || outcome != OutcomeDone {
		return Result{Outcome: outcome}, err
	}
	if err := kymas.AddFinalizer(ctx, a.ControlPlane, a.Settings, kyma); err != nil {
		return Result{}, err
	}
	view, err := a.view(ctx, kyma, in)
	if err != nil {
		return Result{}, err
	}
	adopted, err := a.adoptOrphans(ctx, kyma, view)
	if err != nil {
		return Result{}, err
	}
	if len(adopted) > 0 {
		in.Seen = append(slices.Clone(in.Seen), adopted...)
		// Plan again, based on all Manifests that the Kyma has now.
		if view, err = a.view(ctx, kyma, in); err != nil {
			return Result{}, err
		}
	}
	result := Result{Outcome: OutcomeDone, Synced: view.Sync.Enabled, Channel: view.Wanted.Channel, absent: view.absent}
	if !view.Wanted.Complete {
		result.AwaitsSync = true
		result.Kyma = kymas.Keep(a.Known, kyma)
		return result, nil
	}
	if err := a.recordPlan(ctx, kyma, view); err != nil {
		return Result{}, err
	}
	view.causedBy(in, origin.TraceOf(ctx))
	err = a.write(ctx, kyma, view, &result)
	view.noteUnsettled(&result, in.Modules)
	if err != nil {
		if result.Fault = fault.Of(err); result.Fault.Kind != fault.Rejected {
			return Result{}, err
		}
		// The activity is not retried, but the result keeps what the reconcile waits for.
		return result, nil
	}
	result.InputsDigest, result.Kyma = view.InputsDigest, kymas.Keep(a.Known, kyma)
	return result, nil
}

// outcomeOf returns the outcome that follows from reading a Kyma: whether it exists and should be reconciled.
func outcomeOf(kyma *v1beta2.Kyma, ownership kymas.Ownership, err error) (*v1beta2.Kyma, Outcome, error) {
	if err != nil {
		return nil, "", err
	}
	switch ownership {
	case kymas.Gone:
		return nil, OutcomeGone, nil
	case kymas.NotOurs:
		return kyma, OutcomeNotOurs, nil
	case kymas.Deleting:
		return kyma, OutcomeDeleting, nil
	case kymas.Copy, kymas.Skipped:
		return kyma, OutcomeSkipped, nil
	case kymas.Ours:
	}
	return kyma, OutcomeDone, nil
}

// write carries out the plan. If one Manifest cannot be written, the others still are. The errors are returned at the
// end, so that the reconcile is repeated.
func (a *Activities) write(ctx context.Context, kyma *v1beta2.Kyma, view View, result *Result) error {
	var failed []error
	remove, approved := view.Unwanted, map[string]bool{}
	for _, plans := range [][]planning.ModulePlan{view.Modules, view.Mandatory} {
		for i := range plans {
			plan := &plans[i]
			failed = append(failed, a.carryOut(ctx, kyma, plan, result)...)
			if plan.Action == planning.ActionRemove && a.paced(plan.Existing, plan.AffectedKymas, result) {
				remove = append(remove, plan.Existing)
				approved[plan.Existing.Name] = plan.RemovalApproved
			}
		}
	}
	for i := range view.UpgradesInRemoval {
		failed = append(failed, a.carryOut(ctx, kyma, &view.UpgradesInRemoval[i], result)...)
	}
	for _, obsolete := range view.Obsolete {
		switch {
		case obsolete.Guarded != nil:
			failed = append(failed, a.markGuarded(ctx, obsolete.Guarded))
		case !obsolete.Manifest.DeletionTimestamp.IsZero() || obsolete.Manifest.IsSkipReconciliation():
		case a.paced(obsolete.Manifest, obsolete.affectedKymas, result):
			remove = append(remove, obsolete.Manifest)
			approved[obsolete.Manifest.Name] = obsolete.approved
		}
	}
	failed = append(failed, a.remove(ctx, kyma, remove, approved, result))
	for _, manifest := range view.Unknown {
		err := a.release(ctx, manifest)
		if err == nil && !manifests.IsRefused(manifest) {
			a.recordUnplanned(kyma, manifest) // otherwise the refusing activity has recorded it
		}
		failed = append(failed, err)
	}
	return joined(failed)
}

// carryOut carries out the plan for one module, except for its removal.
func (a *Activities) carryOut(ctx context.Context, kyma *v1beta2.Kyma, plan *planning.ModulePlan, result *Result) []error {
	var failed []error
	if plan.Refusal != nil {
		result.Refused++
		if plan.Refusal.Elsewhere != "" {
			result.reconcileAt(a.planner.guard.now().Add(elsewhereCheck), plan.Refusal.Elsewhere)
		}
		if plan.Refusal.Transient {
			failed = append(failed, plan.Refusal.Err)
		}
		if plan.Mandatory {
			a.record(kyma, plan.Refusal.Reason, "mandatory module "+plan.Name+": "+plan.Refusal.Message, hint.Or(plan.Refusal.Hint, plan.Refusal.Reason))
		}
	}
	if plan.Deferred != nil {
		result.reconcileAt(plan.Deferred.Turn(kyma.UID, a.Settings.PacingSpan), "the end of a deferral")
	}
	if plan.Window != nil {
		result.reconcileAt(plan.Window.Turn(kyma.UID, a.Settings.PacingSpan), "the maintenance window")
	}
	if plan.Guarded != nil {
		failed = append(failed, a.markGuarded(ctx, plan.Guarded))
	}
	failed = append(failed, a.noteHeldBack(ctx, plan))
	switch plan.Action {
	case planning.ActionCreate:
		failed = append(failed, a.create(ctx, kyma, plan, result))
	case planning.ActionUpdate:
		failed = append(failed, a.update(ctx, plan, result))
	case planning.ActionKeep:
		failed = append(failed, a.recordTarget(ctx, plan.Destination, plan.Existing))
	case planning.ActionWait:
		if plan.Manifest != nil {
			failed = append(failed, a.update(ctx, plan, result))
		}
	case planning.ActionNone, planning.ActionRemove:
	}
	return append(failed, a.label(ctx, plan.Chosen))
}

func (a *Activities) create(ctx context.Context, kyma *v1beta2.Kyma, plan *planning.ModulePlan, result *Result) error {
	if plan.Orphan != nil {
		if err := a.releaseOrphan(ctx, kyma, plan.Orphan); err != nil {
			return err
		}
	}
	// The apply would also take over a Manifest with that name that belongs to another Kyma. A list by label does not
	// show such a Manifest. It exists if two long names collide after they were shortened.
	if !slices.Contains(result.absent, plan.Manifest.Name) {
		there, err := a.Known.Manifest(ctx, client.ObjectKeyFromObject(plan.Manifest))
		switch {
		case err != nil:
			return err
		case there == nil:
		case !planning.OwnedBy(there, kyma):
			return fault.New(fault.Rejected, versions.ReasonNameCollision, "module %s: %s exists and belongs to another Kyma",
				plan.Name, planning.Describe(there))
		case !there.DeletionTimestamp.IsZero():
			return nil // create it again after it is gone
		default:
			// The Manifest lost the label by which it is listed.
			plan.Existing = there
			return a.update(ctx, plan, result)
		}
	}
	// With finalizers from the start, the Manifest can never vanish without its objects being removed.
	plan.Manifest.Finalizers = desired.ManifestFinalizers()
	now, err := a.apply(ctx, plan.Manifest)
	if err != nil {
		return err
	}
	requeue.Wrote(ctx, requeue.ManifestAddFinalizer)
	result.Created = append(result.Created, plan.Manifest.Name)
	return a.wrote(ctx, plan, now, result)
}

// update applies the differences. A server-side apply removes the fields that an earlier apply set and this one does not.
// So update sends the finalizers that the Manifest still has, and none that was removed. The resourceVersion ensures that
// this decision is based on the current Manifest.
func (a *Activities) update(ctx context.Context, plan *planning.ModulePlan, result *Result) error {
	existing := plan.Existing
	plan.Manifest.UID, plan.Manifest.ResourceVersion = existing.UID, existing.ResourceVersion
	rollout.NoteUpgrade(existing, plan.Manifest, a.planner.guard.now())
	plan.Manifest.Finalizers = slices.DeleteFunc(desired.ManifestFinalizers(), func(finalizer string) bool {
		return !slices.Contains(existing.Finalizers, finalizer)
	})
	now, err := a.apply(ctx, plan.Manifest)
	if err != nil {
		return err
	}
	if planning.Differs(now, plan.Manifest) {
		if err := a.overwrite(ctx, now, plan.Manifest); err != nil {
			return err
		}
	}
	result.Updated = append(result.Updated, plan.Manifest.Name)
	a.recordRestored(existing)
	return a.wrote(ctx, plan, now, result)
}

// wrote notes a written Manifest, keeps it for the activity that installs it, and records its target.
func (a *Activities) wrote(ctx context.Context, plan *planning.ModulePlan, now *v1beta2.Manifest, result *Result) error {
	result.Wrote, result.written = append(result.Wrote, fleet.SeenOf(now)), append(result.written, now)
	if !plan.Destination.Differs(now) {
		a.Known.Keep(now)
	}
	return a.recordTarget(ctx, plan.Destination, now)
}

// apply applies the Manifest and returns the applied version.
func (a *Activities) apply(ctx context.Context, manifest *v1beta2.Manifest) (*v1beta2.Manifest, error) {
	content, err := applied(manifest)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", planning.Describe(manifest), err)
	}
	err = a.ControlPlane.Apply(ctx, client.ApplyConfigurationFromUnstructured(content),
		client.FieldOwner(shared.FieldManagerLifecycleManager), client.ForceOwnership)
	if apierrors.IsInvalid(err) {
		return nil, fault.New(fault.Rejected, "ManifestInvalid", "apply %s: %w", planning.Describe(manifest), err)
	}
	if err != nil {
		return nil, fmt.Errorf("apply %s: %w", planning.Describe(manifest), err)
	}
	now := &v1beta2.Manifest{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content.Object, now); err != nil {
		return nil, fmt.Errorf("decode %s: %w", planning.Describe(manifest), err)
	}
	return now, nil
}

// overwrite removes values that others set in our fields, because a server-side apply leaves them. Otherwise the Manifest
// would never match the plan.
func (a *Activities) overwrite(ctx context.Context, now, wanted *v1beta2.Manifest) error {
	patch := client.MergeFromWithOptions(now.DeepCopy(), client.MergeFromWithOptimisticLock{})
	now.Spec = wanted.Spec
	for _, key := range planned.Labels() {
		if _, set := wanted.Labels[key]; !set {
			delete(now.Labels, key)
		}
	}
	for _, key := range planned.Annotations() {
		if _, set := wanted.Annotations[key]; !set {
			delete(now.Annotations, key)
		}
	}
	if err := a.ControlPlane.Patch(ctx, now, patch, client.FieldOwner(shared.FieldManagerLifecycleManager)); err != nil {
		return fmt.Errorf("correct %s: %w", planning.Describe(wanted), err)
	}
	return nil
}

// label marks the chosen template as this instance's, if it carries no mark yet.
func (a *Activities) label(ctx context.Context, template *v1beta2.ModuleTemplate) error {
	if template == nil || template.Labels[shared.LabelManagedBy] != "" {
		return nil
	}
	patch := []byte(`{"metadata":{"labels":{"` + shared.LabelManagedBy + `":"` + a.Settings.ManagedBy + `"}}}`)
	target := &v1beta2.ModuleTemplate{}
	target.Name, target.Namespace = template.Name, template.Namespace
	err := a.ControlPlane.Patch(ctx, target, client.RawPatch(mergePatch, patch), client.FieldOwner(shared.FieldManagerLifecycleManager))
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("label ModuleTemplate %s: %w", desired.NameOf(template), err)
	}
	return nil
}

// remove deletes Manifests that are no longer wanted. It relies on one complete reading, and only acts if the Kyma has
// not changed since. Removals that somebody approved by name do not count in the removal budget.
func (a *Activities) remove(ctx context.Context, kyma *v1beta2.Kyma, obsolete []*v1beta2.Manifest, approved map[string]bool, result *Result) error {
	due := lists.Filter(obsolete, func(manifest *v1beta2.Manifest) bool {
		return manifest.DeletionTimestamp.IsZero() && !manifest.IsSkipReconciliation()
	})
	if len(due) == 0 {
		return nil
	}
	now := &v1beta2.Kyma{}
	if err := a.ControlPlane.Get(ctx, client.ObjectKeyFromObject(kyma), now); err != nil {
		return fmt.Errorf("read Kyma %s before removing modules: %w", desired.NameOf(kyma), err)
	}
	if now.UID != kyma.UID || now.Generation != kyma.Generation || !sameRemote(now, kyma) {
		return fault.New(fault.Transient, "Changed", "Kyma %s changed during the reconcile", desired.NameOf(kyma))
	}
	held, err := a.held(ctx, kyma, slices.DeleteFunc(slices.Clone(due), func(m *v1beta2.Manifest) bool { return approved[m.Name] }))
	if err != nil {
		return err
	}
	result.Fault = held
	var failed []error
	for _, manifest := range due {
		if !held.IsZero() && !approved[manifest.Name] && removesModule(manifest) {
			continue
		}
		if err := deleteManifest(ctx, a.ControlPlane, manifest); err != nil {
			failed = append(failed, err)
			continue
		}
		result.Deleted = append(result.Deleted, manifest.Name)
	}
	return joined(failed)
}

// joined returns one error for several. If a retry can help with one of them, a retry can help with the joined error.
func joined(failed []error) error {
	all := errors.Join(failed...)
	for _, err := range failed {
		if err == nil {
			continue
		}
		if f := fault.Of(err); f.Kind != fault.Rejected {
			return &fault.Error{Kind: f.Kind, Reason: f.Reason, Message: all.Error(), Cause: all}
		}
	}
	return all
}
