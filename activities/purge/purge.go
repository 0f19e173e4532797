package purge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/modules/removal"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// Input names the Manifest to purge.
type Input struct {
	Ref kick.Ref `json:"ref"`
	// Abandon releases the Manifest even if its cluster cannot be reached or cannot be cleaned up any further.
	Abandon bool `json:"abandon,omitempty"`
}

// Result reports what a purge forced.
type Result struct {
	// Outcome is OutcomeGone, OutcomeRemoved, OutcomeWaiting if the purge has to continue, OutcomeRefused, or
	// OutcomeApplied if the Manifest must not be purged.
	Outcome manifests.Outcome `json:"outcome"`
	// Forced counts the forced objects. Names lists some of them.
	Forced int      `json:"forced,omitempty"`
	Names  []string `json:"names,omitempty"`
	// Stays lists some of the objects that stay in the cluster, each with the reason.
	Stays []string `json:"stays,omitempty"`
	// Unreached says why the cluster could not be cleaned up. It is empty if the cluster was cleaned up.
	Unreached string `json:"unreached,omitempty"`
	// Fault says why a purge could not continue, with OutcomeWaiting. It is not returned as the activity's error, so that
	// the forced objects are reported.
	Fault fault.Fault `json:"fault,omitzero"`
	// Progress is true if the cluster answers and the purge may still succeed. This does not count as a failed attempt.
	Progress bool `json:"progress,omitempty"`
}

// maxPurgeNames bounds the names in a result, because results are kept in the workflow history.
const maxPurgeNames = 20

// ReasonPurgeContinues: a purge did not finish within its step and continues in the next one.
const ReasonPurgeContinues = "PurgeContinues"

// PurgeManifest forces the removal of a Manifest after its orderly removal has failed. It tries once and does not wait
// long. Based on the Manifest's inventory it deletes the module's custom resources, then its resources in reverse order
// of their stages, and removes the finalizers that block them. Then it releases the Manifest. Objects that Manifests of
// other Kymas in the same cluster use are kept, and so are objects held by a protected finalizer. PurgeManifest changes
// nothing unless both the Manifest and its Kyma are being deleted. Errors are faults.
func (a *Activities) PurgeManifest(ctx context.Context, in Input) (Result, error) {
	result, err := a.purge(ctx, in)
	if errors.Is(err, manifests.ErrChanged) {
		result, err = Result{Outcome: manifests.OutcomeGone}, nil
	}
	return result, err
}

func (a *Activities) purge(ctx context.Context, in Input) (Result, error) {
	m, err := a.steps.Read(ctx, in.Ref)
	if err != nil {
		return Result{}, err
	}
	if m == nil {
		return Result{Outcome: manifests.OutcomeGone}, nil
	}
	ownership, err := a.steps.CheckOwnership(ctx, m)
	if err != nil {
		return Result{}, err
	}
	if ownership.Refusal != nil || ownership.Orphaned {
		return Result{Outcome: manifests.OutcomeRefused}, nil
	}
	goes, err := a.steps.IsKymaBeingDeleted(ctx, m)
	if err != nil {
		return Result{}, err
	}
	if m.DeletionTimestamp.IsZero() || !goes {
		return Result{Outcome: manifests.OutcomeApplied}, nil
	}
	p := &purger{activities: a, manifest: m, kyma: manifests.KymaRefOf(m), abandonCluster: in.Abandon}
	if manifests.HasOwnFinalizer(m) {
		limited, cancel := context.WithTimeout(ctx, a.Options.PurgeLimit)
		err = p.cluster(limited)
		late := isLate(limited)
		cancel()
		switch {
		case ctx.Err() != nil:
			return Result{}, context.Cause(ctx)
		case err == nil:
		case errors.Is(err, manifests.ErrChanged):
			// An earlier attempt was faster.
			return Result{}, err
		case in.Abandon && !p.continues(err, late):
			if err := p.abandon(ctx, err); err != nil {
				return p.stopped(err, false)
			}
		default:
			return p.stopped(p.interrupted(err, late), p.continues(err, late))
		}
	}
	if err := p.release(ctx); err != nil {
		return p.stopped(err, false)
	}
	return p.result(manifests.OutcomeRemoved), nil
}

// lateWithin is how close to its deadline a purge counts as late. client-go immediately refuses a request if the
// client-side rate limit would delay it past the deadline.
const lateWithin = time.Second

func isLate(limited context.Context) bool {
	end, _ := limited.Deadline()
	return limited.Err() != nil || time.Until(end) < lateWithin
}

// continues reports whether a purge that ended with an error should continue, because its cluster answers and something
// was deleted or forced. Such a purge ends at some point: each object is deleted once and loses its finalizers once.
func (p *purger) continues(err error, late bool) bool {
	if !p.progressed() {
		return false
	}
	kind := fault.Of(err).Kind
	// If our own deadline cuts a request short, the error looks like a cluster that does not answer.
	return late || kind != fault.Unreachable && kind != fault.Rejected
}

// interrupted returns the error of a purge that did not finish in time.
func (p *purger) interrupted(err error, late bool) error {
	if !late || !p.progressed() {
		return err
	}
	return fault.New(fault.Transient, ReasonPurgeContinues, "the purge of Manifest %s/%s did not finish in one step; the next step continues it",
		p.manifest.Namespace, p.manifest.Name)
}

// stopped returns the result of a purge that could not continue. It returns a plain error if the purge forced and deleted
// nothing.
func (p *purger) stopped(err error, progress bool) (Result, error) {
	if len(p.names) == 0 && !progress {
		return Result{}, err
	}
	result := p.result(manifests.OutcomeWaiting)
	result.Fault, result.Progress = fault.OfPersistent(err), progress
	return result, nil
}

// abandon records which objects remain in the cluster, and why.
func (p *purger) abandon(ctx context.Context, err error) error {
	ref := kick.RefOf(p.manifest)
	message := fmt.Sprintf("the objects of Manifest %s could not be removed from its cluster and are left there: %s", ref, fault.Of(err).Message)
	remaining := p.remaining()
	p.unreached = message + NameObjects(remaining, maxRemainingBytes)
	return p.activities.Options.Purges.AbandonObjects(ctx, p.kyma, message, remaining)
}

// maxRemainingBytes bounds the names of remaining objects in a result.
const maxRemainingBytes = 1024

// remaining names the objects of the inventory that may still exist.
func (p *purger) remaining() []string {
	var remaining []string
	if recorded := p.manifest.Status.DefaultCR; recorded != nil && recorded.UID != "" {
		gvk, name := inventory.RecordedCR(recorded)
		remaining = append(remaining, objects.Describe(gvk.Kind, name))
	}
	for _, e := range p.manifest.Status.Inventory {
		if gvk, name, err := e.Object(); err == nil && (p.remover == nil || !p.remover.Gone[e.ID]) {
			remaining = append(remaining, objects.Describe(gvk.Kind, name))
		}
	}
	return remaining
}

func (p *purger) result(outcome manifests.Outcome) Result {
	slices.Sort(p.names)
	slices.Sort(p.stays)
	return Result{
		Outcome: outcome, Forced: len(p.names), Names: first(p.names), Stays: first(slices.Compact(p.stays)), Unreached: p.unreached,
	}
}

func first(names []string) []string { return names[:min(len(names), maxPurgeNames)] }

// release removes every finalizer from the Manifest that a purge may remove. The Manifest is ours, no matter who else set
// a finalizer.
func (p *purger) release(ctx context.Context) error {
	stale := false
	return manifests.RetryOnConflict(func() error {
		if stale {
			now, err := p.activities.steps.Read(ctx, kick.RefOf(p.manifest))
			if err != nil || now == nil {
				return err
			}
			p.manifest = now
		}
		stale = true
		return p.releaseOnce(ctx)
	})
}

func (p *purger) releaseOnce(ctx context.Context) error {
	off, stay := p.activities.Options.PurgeRules.Split(manifests.OtherFinalizers(p.manifest))
	object := Object{
		Kind: shared.KindOfInstallation(p.manifest.Name), Namespace: p.manifest.Namespace, Name: p.manifest.Name, UID: p.manifest.UID,
		Finalizers: off, In: "the control plane",
	}
	if len(off) > 0 {
		if err := p.activities.Options.Purges.RecordIntent(ctx, p.kyma, object); err != nil {
			return err
		}
	}
	before := p.manifest.DeepCopy()
	p.manifest.Finalizers = stay
	if len(stay) == len(before.Finalizers) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	err := p.activities.steps.Options.ControlPlane.Patch(ctx, p.manifest, patch, client.FieldOwner(shared.FieldManagerLifecycleManager))
	switch {
	case err == nil && len(off) > 0:
		p.forced(object)
		return nil
	case err == nil || apierrors.IsNotFound(err):
		return nil
	}
	return fmt.Errorf("release Manifest %s/%s: %w", before.Namespace, before.Name, err)
}

// forceObject removes the finalizers that block the deletion of an object.
func (p *purger) forceObject(ctx context.Context, r *removal.Remover, live *metav1.PartialObjectMetadata, kind string, resource kinds.Resource) error {
	api := r.Cluster.Metadata.Resource(resource.GroupVersionResource).Namespace(live.Namespace)
	described := objects.Describe(kind, types.NamespacedName{Namespace: live.Namespace, Name: live.Name})
	stale := false
	return manifests.RetryOnConflict(func() error {
		if stale {
			now, err := api.Get(ctx, live.Name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) || err == nil && now.UID != live.UID {
				return nil
			}
			if err != nil {
				return fmt.Errorf("read %s: %w", described, err)
			}
			live = now
		}
		stale = true
		off, stay := p.activities.Options.PurgeRules.Split(live.Finalizers)
		if held := p.activities.Options.PurgeRules.Protected(stay); len(held) > 0 {
			p.stay(fmt.Sprintf("%s has finalizers that are never removed: %v", described, held))
		}
		if len(off) == 0 {
			return nil
		}
		object := Object{Kind: kind, Namespace: live.Namespace, Name: live.Name, UID: live.UID, Finalizers: off, In: p.place()}
		if err := p.activities.Options.Purges.RecordIntent(ctx, p.kyma, object); err != nil {
			return err
		}
		patch, err := finalizerPatch(live, stay)
		if err != nil {
			return err
		}
		_, err = api.Patch(ctx, live.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: shared.FieldManagerLifecycleManager})
		switch {
		case err == nil:
			p.forced(object)
			return nil
		case apierrors.IsNotFound(err):
			return nil
		}
		return fmt.Errorf("remove the finalizers of %s: %w", described, err)
	})
}
