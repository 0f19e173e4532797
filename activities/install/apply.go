package install

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/kyma-project/lifecycle-manager/activities/apply"
	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/drift"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/inventory"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/manifests"
	"github.com/kyma-project/lifecycle-manager/activities/objects"
	"github.com/kyma-project/lifecycle-manager/activities/readiness"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// ApplyManifest takes one look at the Manifest and installs or upgrades what it names: layers fetched and
// rendered, finalizers and the union of old and new inventory written, objects applied in stages, hashes
// recorded, and pruned what is no longer wanted. It can be run again at any point.
//
// What could not be applied is in Observed with OutcomeIncomplete. Errors are faults.
func (a *Activities) ApplyManifest(ctx context.Context, in ApplyInput) (ApplyResult, error) {
	return a.Apply(ctx, in.Ref)
}

const (
	// ReasonTooManyObjects: the inventory would not fit into the Manifest.
	ReasonTooManyObjects = "TooManyObjects"
	// ReasonDefaultCRRetried: the default custom resource could not be made for the moment.
	ReasonDefaultCRRetried = "DefaultCRRetried"
)

// attempts is how often a Manifest that changes under our hands is looked at anew within one activity.
const attempts = 5

func (a *Activities) Apply(ctx context.Context, ref kick.Ref) (ApplyResult, error) {
	until := time.Now().Add(a.Options.ApplyLimit)
	for range attempts {
		result, err := a.applyOnce(ctx, ref, until)
		if !errors.Is(err, manifests.ErrChanged) {
			return result, err
		}
	}
	return ApplyResult{}, &fault.Error{
		Kind: fault.Transient, Reason: manifests.ReasonManifestChanged, RetryAfter: time.Second,
		Message: fmt.Sprintf("Manifest %s keeps changing while it is installed", ref),
	}
}

func (a *Activities) applyOnce(ctx context.Context, ref kick.Ref, until time.Time) (ApplyResult, error) {
	asOf := time.Now()
	m, err := a.steps.Read(ctx, ref)
	if err != nil {
		return ApplyResult{}, err
	}
	if m == nil {
		return ApplyResult{Outcome: manifests.OutcomeGone}, nil
	}
	result := ApplyResult{InputsDigest: manifests.InputsDigest(m), Module: m.ModuleName(), Version: m.Spec.Version, Kyma: m.KymaName()}
	if !m.DeletionTimestamp.IsZero() {
		result.Outcome = manifests.OutcomeDeleting
		return result, nil
	}
	stands, err := a.steps.CheckOwnership(ctx, m)
	switch {
	case err != nil:
		return ApplyResult{}, err
	case stands.Refusal != nil:
		result.Outcome, result.Observed = manifests.OutcomeRefused, *stands.Refusal
		return result, nil
	case stands.OtherInstance:
		result.Outcome = manifests.OutcomeNotOurs
		return result, nil
	case m.IsSkipReconciliation():
		result.Outcome = manifests.OutcomeSkipped
		result.Observed = manifests.Skipped(m)
		return result, nil
	case m.IsUnmanaged():
		result.Outcome = manifests.OutcomeUnmanaged
		result.Observed = readiness.Observed{State: shared.StateUnmanaged, Reason: readiness.ReasonUnmanaged, Message: "the module is not managed"}
		return result, a.removals.ReleaseUnmanaged(ctx, m)
	}
	m, undecided, err := a.steps.Undecided(ctx, m, stands.Kyma)
	if err != nil {
		return ApplyResult{}, err
	}
	result.InputsDigest = manifests.InputsDigest(m)
	if undecided != nil {
		result.Outcome, result.Observed = manifests.OutcomeRefused, *undecided
		return result, nil
	}
	if other, err := a.steps.InstalledByAnother(ctx, m); err != nil || other != nil {
		return result.shared(other), err
	}
	job, err := a.applier.Prepare(ctx, m)
	if err != nil {
		return ApplyResult{}, a.steps.RecordRejected(ctx, m, err)
	}
	job.Until, job.AsOf = until, asOf
	if err := job.ExcludeAccess(ctx); err != nil {
		return ApplyResult{}, err
	}
	lost, err := storedVersions(ctx, job)
	if err != nil {
		return ApplyResult{}, err
	}
	if len(lost) > 0 {
		result.Outcome = manifests.OutcomeIncomplete
		result.Observed = readiness.Observed{State: shared.StateError, Reason: readiness.ReasonStoredVersions, Message: "nothing was applied: " + objects.FirstOf(lost)}
		return result, nil
	}
	return a.CarryOut(ctx, job, result)
}

// CarryOut writes first what must be known if we die, applies, and records what came of it.
func (a *Activities) CarryOut(ctx context.Context, job *apply.Installation, result ApplyResult) (ApplyResult, error) {
	m := job.Manifest
	if m.DeletionTimestamp.IsZero() {
		if err := a.steps.AddFinalizers(ctx, m); err != nil {
			return ApplyResult{}, err
		}
	}
	if err := a.announce(ctx, job, result.InputsDigest); err != nil {
		return ApplyResult{}, err
	}
	if err := a.yield(ctx, job); err != nil {
		return ApplyResult{}, err
	}
	if err := a.applier.Survey(ctx, job); err != nil {
		return ApplyResult{}, err
	}
	applied, err := a.applier.ApplyStages(ctx, job)
	if err != nil {
		// What was applied so far is in the union already; its hashes come with the next look.
		return ApplyResult{}, err
	}
	if err := a.recoverUpgrade(ctx, job); err != nil {
		return ApplyResult{}, err
	}
	gone := map[string]bool{}
	if applied.Complete() {
		if gone, err = a.prune(ctx, job); err != nil {
			return ApplyResult{}, err
		}
		// As with Helm: once what the module no longer has is gone.
		if _, err = a.applier.RunHooks(ctx, job, job.Plan.After, applied); err != nil {
			return ApplyResult{}, err
		}
	}
	maps.Copy(gone, job.Yielded)
	for _, p := range applied.Skipped {
		// Its objects went with the kind. It is taken up when the kind is back, as one that was never there.
		gone[p.Entry.ID] = true
		job.Plan.Skip(p.Object.GVK)
	}
	result.Outcome, result.Observed = applied.Judge(job, a.steps.Options.Clock(), a.applier.Options.MissingAPITimeout)
	if result.Outcome == manifests.OutcomeApplied {
		observed, judged, err := a.applier.JudgeRepaired(ctx, job)
		if err != nil {
			return ApplyResult{}, clusters.Classify(err)
		}
		if !judged {
			observed, judged = a.judgeSoon(ctx, job, applied, gone)
		}
		if judged {
			result.Observed, result.Judged = observed, true
		}
	}
	if result.Outcome == manifests.OutcomeIncomplete {
		if ready, err := applied.Ready(ctx, job); err == nil {
			result.Observed.Ready = ready
		}
	}
	if err := a.recordApplied(ctx, job, applied, gone, result); err != nil {
		return ApplyResult{}, err
	}
	if !result.Judged && result.Outcome == manifests.OutcomeApplied {
		// How many are ready the wait finds out; until then it is as many as before.
		result.Observed.Ready = m.Status.Counts.Ready
	}
	drift.RecordCorrections(a.steps.Recorder, m, &job.Repair)
	return result, apply.DeleteDone(ctx, job, applied.Done)
}

// announce writes the union of what is and what will be in the cluster, with the resourceVersion that the
// decision was made on, before any of it is applied. For new inputs the module is at work from now on; a
// pass that only repairs leaves the state as it is, and one that tries again what was refused that of the refusal.
func (a *Activities) announce(ctx context.Context, job *apply.Installation, digest string) error {
	m := job.Manifest
	entries := inventory.Union(m.Status.Inventory, job.Plan.Entries)
	if inventory.InventoryBytes(entries) > inventory.MaxInventoryBytes {
		return fault.New(fault.Rejected, ReasonTooManyObjects, "the inventory of %d objects is above %d bytes", len(entries), inventory.MaxInventoryBytes)
	}
	at, err := job.Cluster.UID(ctx)
	if err != nil {
		return manifests.Unidentified(m, err)
	}
	before, began := m.Status.DeepCopy(), time.Now()
	begins := m.Status.InputsDigest != digest || m.Status.InstalledRef != inventory.LayersRef(m)
	job.Repair.Only = !begins
	changed, err := a.steps.WriteStatus(ctx, m, func(s *v1beta2.ManifestStatus) {
		inventory.SetInventory(s, entries)
		s.Cluster = string(at)
		if !begins {
			return
		}
		refused := s.InputsDigest == digest && s.State == shared.StateError
		s.InputsDigest, s.ObservedGeneration, s.Settled = digest, m.Generation, false
		if !refused {
			manifests.SetObserved(m, s, job.Begins, a.steps.Now())
		}
	})
	if err != nil {
		return err
	}
	if changed {
		job.AsOf = began
	}
	if changed && before.State != shared.StateUnknown && manifests.IsNews(before, &m.Status) {
		return a.steps.KickKyma(ctx, m)
	}
	return nil
}

// recordApplied writes uids, hashes and what is gone, after a complete success what is installed now, and after a
// look that judged the module how it is.
func (a *Activities) recordApplied(ctx context.Context, job *apply.Installation, applied *apply.Outcomes, gone map[string]bool, result ApplyResult) error {
	m := job.Manifest
	before := m.Status.DeepCopy()
	// What was refused before came through now.
	through := result.Outcome == manifests.OutcomeApplied && !job.Repair.Only && before.State == shared.StateError
	err := a.steps.RecordStatus(ctx, m, func(s *v1beta2.ManifestStatus) {
		job.Repair.Remember(s, a.steps.Now())
		inventory.SetInventory(s, inventory.Record(s.Inventory, applied.Entries, gone))
		s.Skipped = job.Plan.Skipped
		if applied.Complete() {
			s.InstalledVersion, s.InstalledRef = job.Plan.Version, job.Plan.Ref
			s.TakenOverFrom = nil
		}
		total := inventory.Count(s.Inventory)
		failed := int32(len(applied.Failures)) //nolint:gosec // as above
		if s.Counts == nil || s.Counts.Total != total || s.Counts.Failed != failed {
			s.Counts = &v1beta2.ObjectCounts{Total: total, Failed: failed, Ready: readyBefore(s, total-failed)}
		}
		if result.Judged || through {
			manifests.SetObserved(m, s, result.Observed, a.steps.Now())
		}
		if result.Judged {
			s.Settled = true
		}
	})
	if err == nil && (result.Judged || through) && manifests.IsNews(before, &m.Status) {
		err = a.steps.KickKyma(ctx, m)
	}
	return err
}

// readyBefore keeps the number of ready objects, which the wait finds out, as far as it is still possible.
func readyBefore(s *v1beta2.ManifestStatus, atMost int32) int32 {
	if s.Counts == nil {
		return 0
	}
	return min(s.Counts.Ready, atMost)
}
