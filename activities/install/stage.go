package install

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

	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

const (
	// secondTry is when what failed in passing within a stage is tried once more: roles that a binding
	// refers to, a webhook that just starts.
	secondTry = 500 * time.Millisecond
	// establishing bounds the wait for the module's definitions.
	establishing = 20 * time.Second
	// establishPause is the pause between two looks at them, at first: five looks are enough for some seconds.
	establishPause = 400 * time.Millisecond
)

// outcomes collects what came of applying objects.
type outcomes struct {
	mu sync.Mutex
	// entries are the inventory entries of what was applied, by id.
	entries  map[string]v1beta2.InventoryEntry
	failures []failure
	// skipped are optional objects whose kind the cluster turned out not to serve any more.
	skipped []placed
	// postponed is true when there was no time to apply all.
	postponed bool
	// done are hooks that are to be deleted once it was recorded that they ran.
	done []placed
}

func (o *outcomes) applied(e v1beta2.InventoryEntry) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.entries[e.ID] = e
}

func (o *outcomes) failed(f failure) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failures = append(o.failures, f)
}

func (o *outcomes) skip(p placed) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.skipped = append(o.skipped, p)
}

func (o *outcomes) postpone() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.postponed = true
}

func (o *outcomes) complete() bool { return len(o.failures) == 0 && !o.postponed }

// applyStages applies the plan, stage by stage and in parallel within a stage. What single objects fail with
// is collected; what ends the whole pass (no access, a changed Manifest, our own end) is the error.
func (a *Activities) applyStages(ctx context.Context, job *installation) (*outcomes, error) {
	all := &outcomes{entries: map[string]v1beta2.InventoryEntry{}, failures: job.refused}
	job.plan.version, job.plan.ref = job.manifest.Spec.Version, layersRef(job.manifest)
	for _, unknown := range job.plan.unknown {
		all.failed(failure{object: unknown.String(), missing: unknown.object.gvk.String()})
	}
	for number, objects := range job.plan.stages {
		if stage(number) == stageConfiguration && len(job.plan.before) > 0 && !all.postponed {
			if done, err := a.runFirst(ctx, job, all); err != nil || !done {
				return all, err
			}
		}
		if len(objects) == 0 {
			continue
		}
		if all.postponed {
			return all, nil
		}
		if err := a.maySetOut(ctx, job.manifest, &job.asOf); err != nil {
			return nil, err
		}
		again, err := a.applyAll(ctx, job, objects, all, true)
		if err != nil {
			return nil, err
		}
		if len(again) > 0 {
			if err := pause(ctx, secondTry); err != nil {
				return nil, err
			}
			if _, err := a.applyAll(ctx, job, again, all, false); err != nil {
				return nil, err
			}
		}
		if stage(number) == stageDefinitions && !all.postponed {
			if err := establish(ctx, job, all); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// runFirst runs the hooks that come before the module's objects, and records at once that they ran. When one
// of them is not done, the objects have to wait.
func (a *Activities) runFirst(ctx context.Context, job *installation, all *outcomes) (bool, error) {
	if err := a.maySetOut(ctx, job.manifest, &job.asOf); err != nil {
		return false, err
	}
	done, err := a.runHooks(ctx, job, job.plan.before, all)
	if err != nil || len(all.entries) == 0 {
		return done, err
	}
	return done, a.recordStatus(ctx, job.manifest, func(s *v1beta2.ManifestStatus) {
		setInventory(s, record(s.Inventory, all.entries, nil))
	})
}

// applyAll applies objects in parallel. With retry, those that failed in passing are returned and not noted.
func (a *Activities) applyAll(ctx context.Context, job *installation, objects []placed, all *outcomes, retry bool) ([]placed, error) {
	var mu sync.Mutex
	var again []placed
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(a.options.Parallel)
	for _, p := range objects {
		group.Go(func() error {
			if entry, ok := job.repair.asItShouldBe(p, job.manifest.Status.Corrections, a.now()); ok {
				all.applied(entry)
				return nil
			}
			if job.late() {
				all.postpone()
				return nil
			}
			entry, err := applyOne(ctx, job, p)
			if err == nil {
				all.applied(entry)
				return nil
			}
			if endsPass(ctx, err) {
				return clusters.Classify(fmt.Errorf("apply %s: %w", p, err))
			}
			f := failureOf(p, job.kinds, err)
			if f.missing != "" {
				job.cluster.Mapper.Forget(p.object.gvk)
			}
			if f.missing != "" && p.object.optional {
				all.skip(p)
				return nil
			}
			if retry && (f.passing || unfit(err)) {
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

// late tells whether it is too late to begin another object. The first is always begun, so that each look comes on.
func (job *installation) late() bool {
	return job.begun.Swap(true) && time.Now().After(job.until)
}

// applyOne applies one object and returns its inventory entry with uid and hash.
func applyOne(ctx context.Context, job *installation, p placed) (v1beta2.InventoryEntry, error) {
	if done, ok := ranAlready(job, p); ok {
		return done, nil
	}
	applied, owned, err := applyMarked(ctx, job, p)
	if isJobKind(p.object.gvk.GroupKind()) && apierrors.IsInvalid(err) {
		// The template of a Job cannot be changed: a changed Job is another run.
		if err = replaceJob(ctx, job, p); err == nil {
			applied, err = applyInto(ctx, job, p, p.object.body.fill(job.owner))
		}
	}
	if err != nil {
		return p.entry, err
	}
	entry := p.entry
	if owned {
		job.repair.note(p, applied)
	}
	entry.UID = string(applied.UID)
	if owned {
		// A namespace that was there before us may be every module's, and each puts its own labels on it: what
		// others do to it is no drift.
		entry.Hash = objectHash(applied)
		if applied.CreationTimestamp.Add(older).Before(job.began) {
			job.met.Store(true)
		}
	}
	if isJobKind(p.object.gvk.GroupKind()) {
		entry.Ran = layersRef(job.manifest)
	}
	return entry, nil
}

// applyMarked applies one object with our mark. A namespace that we did not make gets no mark, under a field
// manager of this module's own: whoever marked it, or has it as well, keeps what is theirs.
func applyMarked(ctx context.Context, job *installation, p placed) (applied *metav1.PartialObjectMetadata, owned bool, err error) {
	if p.object.stage == stageNamespaces {
		if owned, err = createdByUs(ctx, job, p); err != nil {
			return nil, false, err
		}
		if !owned {
			applied, err = patchAs(ctx, job, p, p.object.unowned.fill(job.owner), job.owner.namespaceManager())
			return applied, false, err
		}
	}
	body, err := job.repair.bodyFor(p, p.object.body.fill(job.owner))
	if err != nil {
		return nil, true, err
	}
	applied, err = applyInto(ctx, job, p, body)
	if apierrors.IsInvalid(err) && !isJobKind(p.object.gvk.GroupKind()) {
		fit, why := fitted(ctx, job, p, body)
		if why != nil || fit == nil {
			return nil, true, errors.Join(err, why)
		}
		applied, err = applyInto(ctx, job, p, fit)
	}
	return applied, true, err
}

// applyInto applies one object, and makes the remote namespace where that is missing.
func applyInto(ctx context.Context, job *installation, p placed, body []byte) (*metav1.PartialObjectMetadata, error) {
	applied, err := patch(ctx, job, p, body)
	if namespaceMissing(err) && p.name.Namespace == job.remoteNamespace {
		if err = job.makeRemoteNamespace(); err == nil {
			applied, err = patch(ctx, job, p, body)
		}
	}
	return applied, err
}

func patch(ctx context.Context, job *installation, p placed, body []byte) (*metav1.PartialObjectMetadata, error) {
	return patchAs(ctx, job, p, body, shared.FieldManagerModuleResources)
}

func patchAs(ctx context.Context, job *installation, p placed, body []byte, manager string) (*metav1.PartialObjectMetadata, error) {
	force := true
	return job.cluster.Metadata.Resource(p.resource.GroupVersionResource).Namespace(p.name.Namespace).
		Patch(ctx, p.name.Name, applyPatch, body, metav1.PatchOptions{FieldManager: manager, Force: &force})
}

// ranAlready tells whether the object is a Job that was run for these very layers: it runs once, and that it
// was cleaned up since is no reason to run it again.
func ranAlready(job *installation, p placed) (v1beta2.InventoryEntry, bool) {
	if !isJobKind(p.object.gvk.GroupKind()) {
		return v1beta2.InventoryEntry{}, false
	}
	ref := layersRef(job.manifest)
	for _, e := range job.manifest.Status.Inventory {
		// Before Jobs were recorded by their layers, it was known only of those that were installed completely.
		ran := e.Ran == ref || e.Ran == "" && job.manifest.Status.InstalledRef == ref
		if e.ID == p.entry.ID && e.UID != "" && ran {
			return e, true
		}
	}
	return v1beta2.InventoryEntry{}, false
}

func replaceJob(ctx context.Context, job *installation, p placed) error {
	background := metav1.DeletePropagationBackground
	client := job.cluster.Metadata.Resource(p.resource.GroupVersionResource).Namespace(p.name.Namespace)
	live, err := client.Get(ctx, p.name.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if !job.owner.owns(live) {
		return fault.New(fault.Rejected, ReasonApplyFailed, "a Job of this name is there that is not this module's")
	}
	err = client.Delete(ctx, p.name.Name, metav1.DeleteOptions{PropagationPolicy: &background, Preconditions: &metav1.Preconditions{UID: &live.UID}})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// createdByUs tells whether a namespace of the module is not there yet, or is there and carries our mark:
// one that was there before us is not ours to remove. Those where Lifecycle Manager works are no module's.
func createdByUs(ctx context.Context, job *installation, p placed) (bool, error) {
	if isProtected(p.object.gvk, p.name) {
		return false, nil
	}
	live, err := job.cluster.Metadata.Resource(p.resource.GroupVersionResource).Get(ctx, p.name.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return job.owner.owns(live), nil
}

// endsPass tells whether an error is about the whole cluster, or about us, and not about one object.
func endsPass(ctx context.Context, err error) bool {
	if ctx.Err() != nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil {
		return true
	}
	if apierrors.IsForbidden(err) {
		return false
	}
	return fault.Of(clusters.Classify(err)).Kind == fault.Unreachable
}

// establish waits until the cluster serves the kinds that the module defines, so that their objects can be
// applied. It looks at what is served and not at the definitions, which are large.
func establish(ctx context.Context, job *installation, all *outcomes) error {
	deadline := time.Now().Add(establishing)
	wait := establishPause
	missing := job.kinds.groupVersions()
	for {
		for gv, kinds := range missing {
			if served(ctx, job.cluster, gv, kinds) {
				delete(missing, gv)
			}
		}
		if len(missing) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			for gv := range missing {
				all.failed(failure{object: "definitions of " + gv.String(), message: "the cluster does not serve them yet", passing: true})
			}
			return nil
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
		wait = min(2*wait, 2*time.Second)
	}
}

func served(ctx context.Context, c *clusters.Cluster, gv schema.GroupVersion, kinds []string) bool {
	for _, kind := range kinds {
		// The mapper asks once per group version, and again only for what it did not find.
		if _, err := c.Mapper.Resource(ctx, gv.WithKind(kind)); err != nil {
			return false
		}
	}
	return true
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
