package install

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kyma-project/lifecycle-manager/activities/artifacts"
	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/descriptor"
	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// ApplyManifest takes one look at the Manifest and installs or upgrades what it names: layers fetched and
// rendered, finalizers and the union of old and new inventory written, objects applied in stages, hashes
// recorded, and pruned what is no longer wanted. It can be run again at any point.
//
// What could not be applied is in Observed with OutcomeIncomplete. Errors are faults.
func (a *Activities) ApplyManifest(ctx context.Context, in ApplyInput) (ApplyResult, error) {
	return a.apply(ctx, in.Ref)
}

const (
	// ReasonTooManyObjects: the inventory would not fit into the Manifest.
	ReasonTooManyObjects = "TooManyObjects"
	// ReasonDefaultCRRetried: the default custom resource could not be made for the moment.
	ReasonDefaultCRRetried = "DefaultCRRetried"
)

// looks is how often a Manifest that changes under our hands is looked at anew within one activity.
const looks = 5

func (a *Activities) apply(ctx context.Context, ref kick.Ref) (ApplyResult, error) {
	until := time.Now().Add(a.options.ApplyLimit)
	for range looks {
		result, err := a.applyOnce(ctx, ref, until)
		if !errors.Is(err, errChanged) {
			return result, err
		}
	}
	return ApplyResult{}, &fault.Error{
		Kind: fault.Transient, Reason: ReasonManifestChanged, RetryAfter: time.Second,
		Message: fmt.Sprintf("Manifest %s keeps changing while it is installed", ref),
	}
}

func (a *Activities) applyOnce(ctx context.Context, ref kick.Ref, until time.Time) (ApplyResult, error) {
	asOf := time.Now()
	m, err := a.read(ctx, ref)
	if err != nil {
		return ApplyResult{}, err
	}
	if m == nil {
		return ApplyResult{Outcome: OutcomeGone}, nil
	}
	result := ApplyResult{InputsDigest: InputsDigest(m), Module: m.ModuleName(), Version: m.Spec.Version, Kyma: m.KymaName()}
	if !m.DeletionTimestamp.IsZero() {
		result.Outcome = OutcomeDeleting
		return result, nil
	}
	stands, err := a.stands(ctx, m)
	switch {
	case err != nil:
		return ApplyResult{}, err
	case stands.refusal != nil:
		result.Outcome, result.Observed = OutcomeRefused, *stands.refusal
		return result, nil
	case stands.others:
		result.Outcome = OutcomeNotOurs
		return result, nil
	case m.IsSkipReconciliation():
		result.Outcome = OutcomeSkipped
		result.Observed = skipped(m)
		return result, nil
	case m.IsUnmanaged():
		result.Outcome = OutcomeUnmanaged
		result.Observed = Observed{State: shared.StateUnmanaged, Reason: ReasonUnmanaged, Message: "the module is not managed"}
		return result, a.letGo(ctx, m)
	}
	m, undecided, err := a.undecided(ctx, m, stands.kyma)
	if err != nil {
		return ApplyResult{}, err
	}
	result.InputsDigest = InputsDigest(m)
	if undecided != nil {
		result.Outcome, result.Observed = OutcomeRefused, *undecided
		return result, nil
	}
	if other, err := a.heldByAnother(ctx, m); err != nil || other != nil {
		return result.shared(other), err
	}
	job, err := a.prepare(ctx, m)
	if err != nil {
		return ApplyResult{}, a.noteRejected(ctx, m, err)
	}
	job.until, job.asOf = until, asOf
	if err := job.spareAccess(ctx); err != nil {
		return ApplyResult{}, err
	}
	lost, err := storedVersions(ctx, job)
	if err != nil {
		return ApplyResult{}, err
	}
	if len(lost) > 0 {
		result.Outcome = OutcomeIncomplete
		result.Observed = Observed{State: shared.StateError, Reason: ReasonStoredVersions, Message: "nothing was applied: " + some(lost)}
		return result, nil
	}
	return a.carryOut(ctx, job, result)
}

// installation is one look's work on one Manifest.
type installation struct {
	manifest *v1beta2.Manifest
	cluster  *clusters.Cluster
	bundle   *bundle
	plan     plan
	kinds    kinds
	owner    owner
	// remoteNamespace is where namespaced objects go that name no namespace, and makeRemoteNamespace makes it,
	// once in a look: objects that are applied side by side find it missing at the same time.
	remoteNamespace     string
	makeRemoteNamespace func() error
	// repair is what is known of the objects from before.
	repair repair
	// begins is what is said of the module from the moment that something is applied.
	begins Observed
	// refused are objects of the plan that belong to other modules, yielded those of them that need no more
	// care of ours.
	refused []failure
	yielded map[string]bool
	// first is true when nothing is known to have been applied before, and began is when this look did.
	first bool
	began time.Time
	// silent are APIs of which the cluster did not say whether it serves them: the rendering may lack what stands on them.
	silent []string
	// asOf is when the Manifest was last read live, or written as it had been read.
	asOf time.Time
	// until is when no further object is begun, but for the first.
	until time.Time
	begun atomic.Bool
	// met is true when something was there long before it was applied.
	met atomic.Bool
}

// prepare does everything that needs no write: access, layers, rendering, and how each kind is addressed.
func (a *Activities) prepare(ctx context.Context, m *v1beta2.Manifest) (*installation, error) {
	cluster, err := a.target(ctx, m)
	if err != nil {
		return nil, err
	}
	recipe, err := a.options.Artifacts.Prepare(ctx, a.sourceOf(m), cluster)
	if err != nil {
		return nil, clusters.Classify(err)
	}
	b, err := a.bundleOf(ctx, recipe, a.adaptationOf(m))
	if err != nil {
		return nil, err
	}
	job := &installation{
		manifest: m, cluster: cluster, bundle: b, owner: ownerOf(m), remoteNamespace: a.remoteNamespace(m), begins: installing(m, b.leftOut),
		kinds: kinds{own: b.definitions, mapper: cluster.Mapper},
		first: len(m.Status.Inventory) == 0, began: a.options.Clock(), silent: recipe.Silent,
	}
	if job.plan, err = planOf(ctx, m, b, job.kinds, job.remoteNamespace); err != nil {
		return nil, clusters.Classify(err)
	}
	job.refused = job.plan.refused
	job.makeRemoteNamespace = sync.OnceValue(func() error { return makeNamespace(ctx, cluster, job.remoteNamespace) })
	return job, nil
}

// sourceOf is what the Manifest is rendered from.
func (a *Activities) sourceOf(m *v1beta2.Manifest) artifacts.Source {
	source := artifacts.Source{
		Install: layerOf(m.Spec.Install.Source),
		Release: artifacts.Release{Name: m.ModuleName(), Namespace: a.remoteNamespace(m)},
	}
	if source.Release.Name == "" {
		source.Release.Name = m.Spec.Install.Name
	}
	switch m.Spec.Install.Source.Type {
	case v1beta2.ImageSourceHelmChart:
		source.Form = artifacts.FormChart
	case v1beta2.ImageSourceOCIDir:
		source.Form = artifacts.FormDirectory
	case v1beta2.ImageSourceOCIRef:
		// A chart as the seeds' Manifests have it is told by its media type.
		if source.Form = artifacts.FormAny; m.Spec.Install.Source.MediaType == artifacts.ChartMediaType {
			source.Form = artifacts.FormChart
		}
	}
	if m.Spec.Config != nil {
		config := layerOf(*m.Spec.Config)
		source.Config = &config
	}
	return source
}

func layerOf(image v1beta2.ImageSpec) artifacts.Layer {
	return artifacts.Layer{
		Repository: image.Repo, Name: image.Name, Digest: image.Ref, Artifact: image.MediaType == descriptor.ArtifactMediaType,
	}
}

// noteRejected records for which inputs a look failed that cannot succeed without a change, so that the
// sweep does not take it for one that was never made. It returns the look's error.
func (a *Activities) noteRejected(ctx context.Context, m *v1beta2.Manifest, failure error) error {
	if fault.Of(failure).Kind != fault.Rejected {
		return failure
	}
	digest := InputsDigest(m)
	_, err := a.writeStatus(ctx, m, func(s *v1beta2.ManifestStatus) {
		s.InputsDigest, s.ObservedGeneration = digest, m.Generation
	})
	if err != nil {
		return err
	}
	return failure
}

// carryOut writes first what must be known if we die, applies, and records what came of it.
func (a *Activities) carryOut(ctx context.Context, job *installation, result ApplyResult) (ApplyResult, error) {
	m := job.manifest
	if m.DeletionTimestamp.IsZero() {
		if err := a.claim(ctx, m); err != nil {
			return ApplyResult{}, err
		}
	}
	if err := a.announce(ctx, job, result.InputsDigest); err != nil {
		return ApplyResult{}, err
	}
	if err := a.yield(ctx, job); err != nil {
		return ApplyResult{}, err
	}
	if err := a.survey(ctx, job); err != nil {
		return ApplyResult{}, err
	}
	applied, err := a.applyStages(ctx, job)
	if err != nil {
		// What was applied so far is in the union already; its hashes come with the next look.
		return ApplyResult{}, err
	}
	if err := a.recoverUpgrade(ctx, job); err != nil {
		return ApplyResult{}, err
	}
	gone := map[string]bool{}
	if applied.complete() {
		if gone, err = a.prune(ctx, job); err != nil {
			return ApplyResult{}, err
		}
		// As with Helm: once what the module no longer has is gone.
		if _, err = a.runHooks(ctx, job, job.plan.after, applied); err != nil {
			return ApplyResult{}, err
		}
	}
	maps.Copy(gone, job.yielded)
	for _, p := range applied.skipped {
		// Its objects went with the kind. It is taken up when the kind is back, as one that was never there.
		gone[p.entry.ID] = true
		job.plan.skip(p.object.gvk)
	}
	result.Outcome, result.Observed = applied.judge(job, a.options.Clock(), a.options.MissingAPITimeout)
	if result.Outcome == OutcomeApplied {
		observed, judged, err := a.judgeRepaired(ctx, job)
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
	if result.Outcome == OutcomeIncomplete {
		if ready, err := applied.ready(ctx, job); err == nil {
			result.Observed.Ready = ready
		}
	}
	if err := a.recordApplied(ctx, job, applied, gone, result); err != nil {
		return ApplyResult{}, err
	}
	if !result.Judged && result.Outcome == OutcomeApplied {
		// How many are ready the wait finds out; until then it is as many as before.
		result.Observed.Ready = m.Status.Counts.Ready
	}
	tellCorrected(a.teller, m, &job.repair)
	return result, deleteDone(ctx, job, applied.done)
}

// claim writes our finalizers where they are missing, before anything is done that has to be undone.
func (a *Activities) claim(ctx context.Context, m *v1beta2.Manifest) error {
	before := m.DeepCopy()
	changed := false
	for _, finalizer := range desired.ManifestFinalizers() {
		changed = controllerutil.AddFinalizer(m, finalizer) || changed
	}
	if !changed {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := a.options.ControlPlane.Patch(ctx, m, patch, client.FieldOwner(shared.FieldManagerLifecycleManager)); err != nil {
		return fmt.Errorf("write the finalizers of Manifest %s/%s: %w", m.Namespace, m.Name, err)
	}
	return nil
}

// announce writes the union of what is and what will be in the cluster, with the resourceVersion that the
// decision was made on, before any of it is applied. For new inputs the module is at work from now on; a
// pass that only repairs leaves the state as it is, and one that tries again what was refused that of the refusal.
func (a *Activities) announce(ctx context.Context, job *installation, digest string) error {
	m := job.manifest
	inventory := union(m.Status.Inventory, job.plan.entries)
	if inventoryBytes(inventory) > maxInventoryBytes {
		return fault.New(fault.Rejected, ReasonTooManyObjects, "the inventory of %d objects is above %d bytes", len(inventory), maxInventoryBytes)
	}
	at, err := job.cluster.UID(ctx)
	if err != nil {
		return unidentified(m, err)
	}
	before, began := m.Status.DeepCopy(), time.Now()
	begins := m.Status.InputsDigest != digest || m.Status.InstalledRef != layersRef(m)
	job.repair.only = !begins
	changed, err := a.writeStatus(ctx, m, func(s *v1beta2.ManifestStatus) {
		setInventory(s, inventory)
		s.Cluster = string(at)
		if !begins {
			return
		}
		refused := s.InputsDigest == digest && s.State == shared.StateError
		s.InputsDigest, s.ObservedGeneration, s.Settled = digest, m.Generation, false
		if !refused {
			setObserved(m, s, job.begins, a.now())
		}
	})
	if err != nil {
		return err
	}
	if changed {
		job.asOf = began
	}
	if changed && before.State != shared.StateUnknown && tells(before, &m.Status) {
		return a.kickKyma(ctx, m)
	}
	return nil
}

// installing says what begins, and which of a chart's hooks and tests are never run.
func installing(m *v1beta2.Manifest, leftOut []string) Observed {
	verb := "installing"
	if m.Status.InstalledVersion != "" && m.Status.InstalledVersion != m.Spec.Version {
		verb = "upgrading from " + m.Status.InstalledVersion + " to"
	}
	message := verb + " version " + m.Spec.Version
	if len(leftOut) > 0 {
		message += ", without those of the chart's hooks that are not run: " + some(leftOut)
	}
	return Observed{State: shared.StateProcessing, Reason: ReasonInstalling, Message: message}
}

// recordApplied writes uids, hashes and what is gone, after a complete success what is installed now, and after a
// look that judged the module how it is.
func (a *Activities) recordApplied(ctx context.Context, job *installation, applied *outcomes, gone map[string]bool, result ApplyResult) error {
	m := job.manifest
	before := m.Status.DeepCopy()
	// What was refused before came through now.
	through := result.Outcome == OutcomeApplied && !job.repair.only && before.State == shared.StateError
	err := a.recordStatus(ctx, m, func(s *v1beta2.ManifestStatus) {
		job.repair.remember(s, a.now())
		setInventory(s, record(s.Inventory, applied.entries, gone))
		s.Skipped = job.plan.skipped
		if applied.complete() {
			s.InstalledVersion, s.InstalledRef = job.plan.version, job.plan.ref
			s.TakenOverFrom = nil
		}
		total := staying(s.Inventory)
		failed := int32(len(applied.failures)) //nolint:gosec // as above
		if s.Counts == nil || s.Counts.Total != total || s.Counts.Failed != failed {
			s.Counts = &v1beta2.ObjectCounts{Total: total, Failed: failed, Ready: readyBefore(s, total-failed)}
		}
		if result.Judged || through {
			setObserved(m, s, result.Observed, a.now())
		}
		if result.Judged {
			s.Settled = true
		}
	})
	if err == nil && (result.Judged || through) && tells(before, &m.Status) {
		err = a.kickKyma(ctx, m)
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

// skipped is what the status says already, and that nothing is done.
func skipped(m *v1beta2.Manifest) Observed {
	o := Observed{State: m.Status.State, Reason: ReasonSkipped, Message: shared.OperationSkipped}
	if m.Status.Counts != nil {
		o.Ready, o.Total = m.Status.Counts.Ready, m.Status.Counts.Total
	}
	return o
}
