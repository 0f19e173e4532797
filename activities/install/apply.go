package install

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/modules/adoption"
	"github.com/kyma-project/lifecycle-manager/internal/modules/apply"
	"github.com/kyma-project/lifecycle-manager/internal/modules/drift"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/requeue"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts"
)

// ApplyManifest reconciles the Manifest once and installs or upgrades its module. It fetches and renders the layers,
// writes finalizers and the union of the old and the new inventory, applies the objects in stages, records their hashes,
// and prunes objects that are no longer wanted. It is safe to run again at any point.
//
// If some objects could not be applied, the outcome is OutcomeIncomplete and Observed says why. The worker's interceptor
// converts errors into faults.
func (a *Activities) ApplyManifest(ctx context.Context, in ApplyInput) (ApplyResult, error) {
	return a.apply(ctx, in.Ref, time.Now().Add(a.Options.ApplyLimit))
}

// apply is ApplyManifest with a deadline after which it starts no more objects.
func (a *Activities) apply(ctx context.Context, ref kick.Ref, until time.Time) (ApplyResult, error) {
	ctx, news := manifests.Noting(artifacts.ForManifest(ctx, ref))
	if m, asOf := a.steps.Options.Known.TakeManifest(ctx, ref); m != nil && m.IsMaintained() && !manifests.IsUpstreams(m) {
		result, err := a.applyOnce(ctx, m, asOf, until)
		if !errors.Is(err, manifests.ErrChanged) && !manifests.IsConflict(err) && (err != nil || result.IsOfWork()) {
			result.News = *news
			return result, err
		}
	}
	for range attempts {
		asOf := time.Now()
		m, err := a.steps.Read(ctx, ref)
		if err != nil {
			return ApplyResult{}, err
		}
		result, err := a.applyOnce(ctx, m, asOf, until)
		if !errors.Is(err, manifests.ErrChanged) {
			result.News = *news
			return result, err
		}
	}
	return ApplyResult{}, &fault.Error{
		Kind: fault.Transient, Reason: manifests.ReasonManifestChanged, RetryAfter: time.Second,
		Message: fmt.Sprintf("Manifest %s keeps changing during its installation", ref),
	}
}

// ReasonTooManyObjects: the inventory does not fit into the Manifest.
const ReasonTooManyObjects = "TooManyObjects"

// attempts is how often one activity reads a Manifest that keeps changing.
const attempts = 5

// applyOnce applies this version of the Manifest, read at asOf. m is nil if the Manifest is gone.
func (a *Activities) applyOnce(ctx context.Context, m *v1beta2.Manifest, asOf, until time.Time) (ApplyResult, error) {
	if m == nil {
		return ApplyResult{Outcome: manifests.OutcomeGone}, nil
	}
	result := ApplyResult{InputsDigest: manifests.InputsDigest(m), Module: m.ModuleName(), Version: m.Spec.Version, Kyma: m.KymaName()}
	if !m.DeletionTimestamp.IsZero() {
		return result.as(manifests.OutcomeDeleting, readiness.Observed{})
	}
	ownership, err := a.steps.CheckOwnership(ctx, m)
	switch {
	case err != nil:
		return ApplyResult{}, err
	case ownership.Refusal != nil:
		return result.as(manifests.OutcomeRefused, *ownership.Refusal)
	case ownership.OtherInstance:
		return result.as(manifests.OutcomeNotOurs, readiness.Observed{})
	case m.IsSkipReconciliation():
		return result.as(manifests.OutcomeSkipped, manifests.Skipped(m))
	}
	if err := adoption.Adopt(ctx, a.steps, m); err != nil {
		return ApplyResult{}, a.steps.RecordRejected(ctx, m, err)
	}
	if m.IsUnmanaged() {
		result.Outcome = manifests.OutcomeUnmanaged
		result.Observed = readiness.Observed{State: shared.StateUnmanaged, Reason: readiness.ReasonUnmanaged, Message: "the module is not managed"}
		return result, a.removals.ReleaseUnmanaged(ctx, m)
	}
	m, undecided, err := a.steps.Undecided(ctx, m, ownership.Kyma)
	if err != nil {
		return ApplyResult{}, err
	}
	result.InputsDigest = manifests.InputsDigest(m)
	if undecided != nil {
		return result.as(manifests.OutcomeRefused, *undecided)
	}
	if other, err := a.steps.InstalledByAnother(ctx, m); err != nil {
		return ApplyResult{}, err
	} else if other != nil {
		return result.as(manifests.OutcomeShared, *other)
	}
	job, err := a.applier.Prepare(ctx, m)
	if errors.Is(err, apply.ErrLater) {
		return result.as(manifests.OutcomeLater, readiness.Observed{})
	}
	if err != nil {
		if observed, known := a.observeUnfetched(ctx, m, result.InputsDigest, err); known {
			return result.as(manifests.OutcomeIncomplete, observed)
		}
		return ApplyResult{}, a.steps.RecordRejected(ctx, m, err)
	}
	job.Until, job.AsOf = until, asOf
	if err := job.ExcludeAccess(ctx); err != nil {
		return ApplyResult{}, err
	}
	unservable, err := storedVersions(ctx, job)
	if err != nil {
		return ApplyResult{}, err
	}
	if len(unservable) > 0 {
		return result.as(manifests.OutcomeIncomplete, readiness.Observed{
			State: shared.StateError, Reason: readiness.ReasonStoredVersions, Message: "nothing was applied: " + objects.FirstOf(unservable),
		})
	}
	return a.CarryOut(ctx, job, result)
}

// CarryOut writes everything that must survive a crash, then applies the objects, and records the result.
func (a *Activities) CarryOut(ctx context.Context, job *apply.Installation, result ApplyResult) (ApplyResult, error) {
	m := job.Manifest
	if m.DeletionTimestamp.IsZero() {
		if err := a.steps.AddFinalizers(ctx, m); err != nil {
			return ApplyResult{}, err
		}
	}
	if err := a.recordIntent(ctx, job, result.InputsDigest); err != nil {
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
		// The recorded union already contains everything applied so far. The next reconcile records the hashes.
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
		// Like Helm, run these hooks after pruning.
		if _, err = a.applier.RunHooks(ctx, job, job.Plan.After, applied); err != nil {
			return ApplyResult{}, err
		}
	}
	maps.Copy(gone, job.Yielded)
	for _, p := range applied.Skipped {
		// The objects were deleted together with their kind. When the kind is back, the object counts as never applied.
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
		// FollowModules counts the ready objects. Before that, report the previous number.
		result.Observed.Ready = m.Status.Counts.Ready
	}
	drift.RecordCorrections(a.steps.Recorder, m, &job.Repair)
	a.steps.Recorder.Replaced(m, job.Replaced())
	return result, apply.DeleteDone(ctx, job, applied.Done)
}

// recordIntent writes the union of the objects that are in the cluster and those that will be, before any object is
// applied. The write carries the resourceVersion that the decision was based on. With new inputs, the module's state
// becomes Processing. The state does not change if the reconcile only corrects drift, retries what was refused, or
// applies for the first time what upstream had installed.
//
// If the module is Ready and an upgrade neither adds nor removes objects, the recorded inventory is already correct. If
// such an upgrade takes only seconds, the intent is recorded together with the result. Before that, the inputs digest in
// the status shows that the status belongs to older inputs.
func (a *Activities) recordIntent(ctx context.Context, job *apply.Installation, digest string) error {
	m := job.Manifest
	entries := inventory.Union(m.Status.Inventory, job.Plan.Entries)
	if err := tooMany(m, entries); err != nil {
		return err
	}
	at, err := job.Cluster.UID(ctx)
	if err != nil {
		return manifests.Unidentified(m, err)
	}
	before, began := m.Status.DeepCopy(), time.Now()
	adopted := before.InstalledRef == inventory.LayersRef(m) && inventory.NeverApplied(before.Inventory) &&
		(before.State == shared.StateReady || before.State == shared.StateWarning)
	begins := m.Status.InputsDigest != digest || m.Status.InstalledRef != inventory.LayersRef(m)
	job.Repair.Only = !begins
	intend := func(s *v1beta2.ManifestStatus) {
		inventory.SetInventory(s, entries)
		s.Cluster = string(at)
		if !begins {
			return
		}
		refused := s.InputsDigest == digest && s.State == shared.StateError
		s.InputsDigest, s.ObservedGeneration, s.Settled = digest, m.Generation, false
		if !refused && !adopted {
			manifests.SetObserved(m, s, job.Begins, a.steps.Now())
		}
	}
	if apply.IsQuick(ctx) && begins && before.State == shared.StateReady && before.Settled && before.Cluster == string(at) &&
		!adopted && !takesNew(job) && equality.Semantic.DeepEqual(before.Inventory, entries) {
		job.Intent = intend
		return nil
	}
	changed, err := a.steps.WriteStatus(ctx, m, intend)
	if err != nil {
		return err
	}
	if changed {
		job.AsOf = began
	}
	if changed && before.State != shared.StateUnknown && manifests.IsNews(before, &m.Status) {
		manifests.Changed(ctx, m)
	}
	return nil
}

// tooMany returns an error if the Manifest with this inventory would not fit into etcd.
func tooMany(m *v1beta2.Manifest, entries []v1beta2.InventoryEntry) error {
	if inventory.Bytes(entries) > inventory.MaxInventoryBytes {
		return fault.New(fault.Rejected, ReasonTooManyObjects, "the inventory of %d objects is larger than %d bytes", len(entries), inventory.MaxInventoryBytes)
	}
	whole, err := inventory.ManifestBytes(m, entries)
	if err != nil {
		return err
	}
	if whole > inventory.MaxManifestBytes {
		return fault.New(fault.Rejected, ReasonTooManyObjects, "the Manifest would be %d bytes large with its inventory of %d objects and its default custom resource; the limit is %d bytes",
			whole, len(entries), inventory.MaxManifestBytes)
	}
	return nil
}

// recordApplied writes the uids and hashes of applied objects, and drops gone objects from the inventory. If all objects
// were applied, it also writes the installed version. If the reconcile judged the module, it also writes the module's
// state.
func (a *Activities) recordApplied(ctx context.Context, job *apply.Installation, applied *apply.Outcomes, gone map[string]bool, result ApplyResult) error {
	m := job.Manifest
	before := m.Status.DeepCopy()
	// Objects that were refused before have been applied now.
	recovered := result.Outcome == manifests.OutcomeApplied && !job.Repair.Only && before.State == shared.StateError
	wanted, err := m.Spec.DefaultCR()
	if err != nil {
		// EnsureDefaultCR reports what is wrong with it. An existing record stays unchanged.
		wanted = nil
	}
	err = a.steps.RecordStatus(ctx, m, func(s *v1beta2.ManifestStatus) {
		if job.Intent != nil && s.InputsDigest == before.InputsDigest && equality.Semantic.DeepEqual(s.Inventory, before.Inventory) {
			job.Intent(s)
		}
		job.Repair.Remember(s, a.steps.Now())
		inventory.SetInventory(s, inventory.Record(s.Inventory, applied.Entries, gone))
		s.Skipped = job.Plan.Skipped
		if applied.Complete() {
			s.InstalledVersion, s.InstalledRef = job.Plan.Version, job.Plan.Ref
			s.TakenOverFrom = nil
			s.DefaultCR = inventory.MovedOn(s.DefaultCR, wanted)
		}
		total := inventory.Count(s.Inventory)
		failed := int32(len(applied.Failures)) //nolint:gosec // as above
		if s.Counts == nil || s.Counts.Total != total || s.Counts.Failed != failed {
			s.Counts = &v1beta2.ObjectCounts{Total: total, Failed: failed, Ready: readyBefore(s, total-failed)}
		}
		if result.Judged || recovered {
			manifests.SetObserved(m, s, result.Observed, a.steps.Now())
		}
		if result.Judged {
			s.Settled = true
		}
	})
	if err == nil {
		requeue.RecordedRef(ctx, before.InstalledRef, m.Status.InstalledRef)
	}
	if err == nil && (result.Judged || recovered || job.Intent != nil) && manifests.IsNews(before, &m.Status) {
		manifests.Changed(ctx, m)
	}
	return err
}

// readyBefore returns the previous number of ready objects, which FollowModules counts, but at most atMost.
func readyBefore(s *v1beta2.ManifestStatus, atMost int32) int32 {
	if s.Counts == nil {
		return 0
	}
	return min(s.Counts.Ready, atMost)
}
