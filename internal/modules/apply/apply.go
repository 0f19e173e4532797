package apply

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/bundle"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// older is how long before the start of a reconcile an object must have been created to count as older than the
// reconcile. It allows for clock skew between the two clusters.
const older = 10 * time.Minute

const (
	// secondTry is the pause before retryable failures within a stage are retried once. For example, a binding may refer
	// to a role of the same stage, or a webhook may just be starting.
	secondTry = 500 * time.Millisecond
	// establishing bounds the wait for the cluster to serve the module's definitions.
	establishing = 20 * time.Second
	// establishPause is the first pause between two checks. With backoff, five checks cover a few seconds.
	establishPause = 400 * time.Millisecond
)

// Outcomes collects the results of applying objects.
type Outcomes struct {
	mu sync.Mutex
	// Entries are the inventory entries of the applied objects, by id.
	Entries  map[string]v1beta2.InventoryEntry
	Failures []bundle.Failure
	// Skipped holds optional objects of kinds that the cluster no longer serves.
	Skipped []bundle.Placed
	// postponed is true if time ran out before all objects were applied.
	postponed bool
	// Done holds the hooks to delete after the status records that they ran.
	Done []bundle.Placed
}

func (o *Outcomes) applied(e v1beta2.InventoryEntry) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.Entries[e.ID] = e
}

func (o *Outcomes) failed(f bundle.Failure) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.Failures = append(o.Failures, f)
}

func (o *Outcomes) skip(p bundle.Placed) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.Skipped = append(o.Skipped, p)
}

func (o *Outcomes) postpone() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.postponed = true
}

// Complete reports whether all objects were applied.
func (o *Outcomes) Complete() bool { return len(o.Failures) == 0 && !o.postponed }

// ApplyStages applies the plan stage by stage, and the objects of a stage in parallel. It collects failures of single
// objects in Outcomes. It returns an error only for what ends the whole reconcile: no access, a changed Manifest, or
// our own shutdown.
func (a *Applier) ApplyStages(ctx context.Context, job *Installation) (*Outcomes, error) {
	all := &Outcomes{Entries: map[string]v1beta2.InventoryEntry{}, Failures: job.Refused}
	job.Plan.Version, job.Plan.Ref = job.Manifest.Spec.Version, inventory.LayersRef(job.Manifest)
	for _, unknown := range job.Plan.Unknown {
		all.failed(bundle.Failure{Object: unknown.String(), Missing: unknown.Object.GVK.String()})
	}
	for number, placed := range job.Plan.Stages {
		if kinds.Stage(number) == kinds.StageConfiguration && len(job.Plan.Before) > 0 && !all.postponed {
			if done, err := a.runFirst(ctx, job, all); err != nil || !done {
				return all, err
			}
		}
		if len(placed) == 0 {
			continue
		}
		if all.postponed {
			return all, nil
		}
		if err := a.steps.MayBeginStage(ctx, job.Manifest, &job.AsOf); err != nil {
			return nil, err
		}
		again, err := a.applyAll(ctx, job, placed, all, true)
		if err != nil {
			return nil, err
		}
		if len(again) > 0 {
			if err := objects.Sleep(ctx, secondTry); err != nil {
				return nil, err
			}
			if _, err := a.applyAll(ctx, job, again, all, false); err != nil {
				return nil, err
			}
		}
		if kinds.Stage(number) == kinds.StageDefinitions && !all.postponed {
			if err := establish(ctx, job, all); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// runFirst runs the hooks of Plan.Before and immediately records that they ran. It returns false
// if a hook has not finished; the objects then have to wait.
func (a *Applier) runFirst(ctx context.Context, job *Installation, all *Outcomes) (bool, error) {
	if err := a.steps.MayBeginStage(ctx, job.Manifest, &job.AsOf); err != nil {
		return false, err
	}
	done, err := a.RunHooks(ctx, job, job.Plan.Before, all)
	if err != nil || len(all.Entries) == 0 {
		return done, err
	}
	return done, a.steps.RecordStatus(ctx, job.Manifest, func(s *v1beta2.ManifestStatus) {
		inventory.SetInventory(s, inventory.Record(s.Inventory, all.Entries, nil))
	})
}

// applyAll applies objects in parallel. If retry is true, it returns the objects with a retryable failure instead of
// recording the failures.
func (a *Applier) applyAll(ctx context.Context, job *Installation, placed []bundle.Placed, all *Outcomes, retry bool) ([]bundle.Placed, error) {
	var mu sync.Mutex
	var again []bundle.Placed
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(a.Options.Parallel)
	for _, p := range placed {
		group.Go(func() error {
			if entry, ok := job.Repair.IsCurrent(p, job.Manifest.Status.Corrections, a.steps.Now()); ok {
				all.applied(entry)
				return nil
			}
			if job.late() {
				all.postpone()
				return nil
			}
			entry, err := Object(ctx, job, p)
			if err == nil {
				all.applied(entry)
				return nil
			}
			if objects.EndsPass(ctx, err) {
				return clusters.Classify(fmt.Errorf("apply %s: %w", p, err))
			}
			f := failureOf(p, job.Mapper, err)
			if f.Missing != "" {
				job.Cluster.Mapper.Forget(p.Object.GVK)
			}
			if f.Missing != "" && p.Object.Optional {
				all.skip(p)
				return nil
			}
			if retry && (f.Retryable || isMismatch(err)) {
				mu.Lock()
				defer mu.Unlock()
				again = append(again, p)
				return nil
			}
			all.failed(f)
			return nil
		})
	}
	err := group.Wait()
	return again, err
}

// late reports whether it is too late to begin another object. It returns false for the first object, so that each
// reconcile makes progress.
func (job *Installation) late() bool {
	return job.begun.Swap(true) && time.Now().After(job.Until)
}

// Object applies one object and returns its inventory entry with uid and hash.
func Object(ctx context.Context, job *Installation, p bundle.Placed) (v1beta2.InventoryEntry, error) {
	if done, ok := ranAlready(job, p); ok {
		return done, nil
	}
	applied, owned, err := applyMarked(ctx, job, p)
	if kinds.IsJob(p.Object.GVK.GroupKind()) && apierrors.IsInvalid(err) {
		// The template of a Job is immutable. A changed Job is a new run.
		if err = replaceJob(ctx, job, p); err == nil {
			applied, err = applyInto(ctx, job, p, p.Object.Body.Fill(job.Owner))
		}
	}
	if err != nil {
		return p.Entry, err
	}
	entry := p.Entry
	if owned {
		job.Repair.Note(p, applied)
	}
	entry.UID = string(applied.UID)
	if owned {
		// Only owned objects get a hash. All modules may share a namespace that existed before us, and each module sets its
		// own labels on it, so changes by others are not drift.
		entry.Hash = inventory.ObjectHash(applied)
		if applied.CreationTimestamp.Add(older).Before(job.began) {
			job.Met.Store(true)
		}
	}
	if kinds.IsJob(p.Object.GVK.GroupKind()) {
		entry.Ran = inventory.LayersRef(job.Manifest)
	}
	return entry, nil
}

// applyMarked applies one object with our mark. A namespace that we did not create gets no mark. We apply it with a
// field manager specific to this module, so that other owners and modules keep their fields.
func applyMarked(ctx context.Context, job *Installation, p bundle.Placed) (applied *metav1.PartialObjectMetadata, owned bool, err error) {
	if p.Object.Stage == kinds.StageNamespaces {
		if owned, err = createdByUs(ctx, job, p); err != nil {
			return nil, false, err
		}
		if !owned {
			applied, err = patchAs(ctx, job, p, p.Object.Unowned.Fill(job.Owner), job.Owner.NamespaceManager())
			return applied, false, err
		}
	}
	body, err := job.Repair.BodyFor(p, p.Object.Body.Fill(job.Owner))
	if err != nil {
		return nil, true, err
	}
	if err := takeFields(ctx, job, p, body); err != nil {
		return nil, true, err
	}
	applied, err = applyInto(ctx, job, p, body)
	if apierrors.IsInvalid(err) && !kinds.IsJob(p.Object.GVK.GroupKind()) {
		applied, err = applyOver(ctx, job, p, body, err)
	}
	return applied, true, err
}

// applyOver applies an object again after a refusal, adapted to the live object. If that fails too, it replaces the
// live object, provided that the module allows it.
func applyOver(ctx context.Context, job *Installation, p bundle.Placed, body []byte, refusal error) (*metav1.PartialObjectMetadata, error) {
	adapted, err := adaptToLive(ctx, job, p, body, refusal)
	if err != nil {
		return nil, errors.Join(refusal, err)
	}
	if adapted.body != nil {
		applied, err := applyInto(ctx, job, p, adapted.body)
		if err == nil {
			return applied, nil
		}
		if !apierrors.IsInvalid(err) {
			return nil, err
		}
		refusal = err
		if adapted.undo != nil {
			refusal = errors.Join(err, adapted.undo(ctx))
		}
	}
	return replace(ctx, job, p, body, refusal)
}

// applyInto applies one object. If the remote namespace is missing, applyInto creates it and tries again.
func applyInto(ctx context.Context, job *Installation, p bundle.Placed, body []byte) (*metav1.PartialObjectMetadata, error) {
	applied, err := Patch(ctx, job, p, body)
	if NamespaceMissing(err) && p.Name.Namespace == job.RemoteNamespace {
		if err = job.ensureRemoteNamespace(); err == nil {
			applied, err = Patch(ctx, job, p, body)
		}
	}
	return applied, err
}

// Patch applies the body of one object with the field manager of all modules' objects.
func Patch(ctx context.Context, job *Installation, p bundle.Placed, body []byte) (*metav1.PartialObjectMetadata, error) {
	return patchAs(ctx, job, p, body, shared.FieldManagerModuleResources)
}

func patchAs(ctx context.Context, job *Installation, p bundle.Placed, body []byte, manager string) (*metav1.PartialObjectMetadata, error) {
	return job.Cluster.Metadata.Resource(p.Resource.GroupVersionResource).Namespace(p.Name.Namespace).
		Patch(ctx, p.Name.Name, ApplyPatch, body, metav1.PatchOptions{FieldManager: manager, Force: new(true)})
}

// ranAlready reports whether the object is a Job that has already run for exactly these layers. A Job runs once, even
// if it was deleted afterwards.
func ranAlready(job *Installation, p bundle.Placed) (v1beta2.InventoryEntry, bool) {
	if !kinds.IsJob(p.Object.GVK.GroupKind()) {
		return v1beta2.InventoryEntry{}, false
	}
	ref := inventory.LayersRef(job.Manifest)
	for _, e := range job.Manifest.Status.Inventory {
		// Older records of Jobs have no layers. For those, only completely installed layers are known to have run.
		ran := e.Ran == ref || e.Ran == "" && job.Manifest.Status.InstalledRef == ref
		if e.ID == p.Entry.ID && e.UID != "" && ran {
			return e, true
		}
	}
	return v1beta2.InventoryEntry{}, false
}

func replaceJob(ctx context.Context, job *Installation, p bundle.Placed) error {
	api := job.Cluster.Metadata.Resource(p.Resource.GroupVersionResource).Namespace(p.Name.Namespace)
	live, err := api.Get(ctx, p.Name.Name, metav1.GetOptions{})
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	if !job.Owner.Owns(live) {
		return fault.New(fault.Rejected, readiness.ReasonApplyFailed, "a Job with this name exists and does not belong to this module")
	}
	err = api.Delete(ctx, p.Name.Name, metav1.DeleteOptions{
		PropagationPolicy: new(metav1.DeletePropagationBackground), Preconditions: &metav1.Preconditions{UID: &live.UID},
	})
	return client.IgnoreNotFound(err)
}

// createdByUs reports whether a namespace of the module does not exist yet or carries our mark. We must not remove a
// namespace that existed before us. Namespaces that Lifecycle Manager itself uses belong to no module.
func createdByUs(ctx context.Context, job *Installation, p bundle.Placed) (bool, error) {
	if kinds.IsProtected(p.Object.GVK, p.Name) {
		return false, nil
	}
	live, err := job.Cluster.Metadata.Resource(p.Resource.GroupVersionResource).Get(ctx, p.Name.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return job.Owner.Owns(live), nil
}

// establish waits until the cluster serves the kinds that the module defines, so that custom resources can be
// applied. It reads discovery data, not the definitions, which are large.
func establish(ctx context.Context, job *Installation, all *Outcomes) error {
	deadline := time.Now().Add(establishing)
	wait := establishPause
	missing := job.Mapper.GroupVersions()
	for {
		for gv, kinds := range missing {
			if served(ctx, job.Cluster, gv, kinds) {
				delete(missing, gv)
			}
		}
		if len(missing) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			for gv := range missing {
				all.failed(bundle.Failure{Object: "definitions of " + gv.String(), Message: "the cluster does not serve their kinds yet", Retryable: true})
			}
			return nil
		}
		if err := objects.Sleep(ctx, wait); err != nil {
			return err
		}
		wait = min(2*wait, 2*time.Second)
	}
}

func served(ctx context.Context, c *clusters.Cluster, gv schema.GroupVersion, wanted []string) bool {
	for _, kind := range wanted {
		// The mapper asks once per group version. It asks again only for kinds that it did not find.
		if _, err := c.Mapper.Resource(ctx, gv.WithKind(kind)); err != nil {
			return false
		}
	}
	return true
}
