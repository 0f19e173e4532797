package install

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

	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/heartbeat"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/purge"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// PurgeInput names the Manifest to purge.
type PurgeInput struct {
	Ref kick.Ref `json:"ref"`
	// LetGo makes the Manifest go also when its cluster cannot be reached, or not be cleaned up.
	LetGo bool `json:"letGo,omitempty"`
}

// PurgeResult says what was forced.
type PurgeResult struct {
	Outcome Outcome `json:"outcome"` // OutcomeGone, OutcomeRemoved, or OutcomeApplied when it may not be purged
	// Forced counts the objects that were forced, and Names names some of them.
	Forced int      `json:"forced,omitempty"`
	Names  []string `json:"names,omitempty"`
	// Stays names some of what stays in the cluster, each with the reason.
	Stays []string `json:"stays,omitempty"`
	// Unreached says why the cluster could not be cleaned up; empty when it was.
	Unreached string `json:"unreached,omitempty"`
}

// maxPurgeNames bounds the names in a result, which is kept in a history.
const maxPurgeNames = 20

// purgeLimit bounds the work in the cluster of one purge, so that the Manifest is let go within the step.
const purgeLimit = 75 * time.Second

// PurgeManifest removes a Manifest that an orderly removal could not remove, once and without waiting long: with
// the same inventory it deletes the module's custom resources, its resources in reverse order of their stages, and
// takes off finalizers that hold any of them; then it releases the Manifest. What Manifests of other Kymas in the
// same cluster use as well stays, and so does what a protected finalizer holds. A Manifest that is not being deleted,
// or whose Kyma is not, is left alone. Errors are faults.
func (a *Activities) PurgeManifest(ctx context.Context, in PurgeInput) (PurgeResult, error) {
	ctx, stop := heartbeat.Every(ctx, a.options.HeartbeatInterval)
	defer stop()
	result, err := a.purge(ctx, in)
	if errors.Is(err, errChanged) {
		result, err = PurgeResult{Outcome: OutcomeGone}, nil
	}
	return result, fault.ToTemporal(heartbeat.Error(ctx, err))
}

func (a *Activities) purge(ctx context.Context, in PurgeInput) (PurgeResult, error) {
	m, err := a.read(ctx, in.Ref)
	if err != nil {
		return PurgeResult{}, err
	}
	if m == nil {
		return PurgeResult{Outcome: OutcomeGone}, nil
	}
	goes, err := a.kymaGoes(ctx, m)
	if err != nil {
		return PurgeResult{}, err
	}
	if m.DeletionTimestamp.IsZero() || !goes {
		return PurgeResult{Outcome: OutcomeApplied}, nil
	}
	p := &purger{activities: a, manifest: m, kyma: kymaRefOf(m), letGo: in.LetGo}
	if hasOwnFinalizer(m) {
		limited, cancel := context.WithTimeout(ctx, purgeLimit)
		err = p.cluster(limited)
		cancel()
		if ctx.Err() != nil {
			return PurgeResult{}, context.Cause(ctx)
		}
		if err != nil && !in.LetGo {
			return PurgeResult{}, err
		}
		if err != nil {
			p.unreached = fmt.Sprintf("what Manifest %s has in its cluster could not be removed and is left there: %s", in.Ref, fault.Of(err).Message)
			if err := a.options.Purges.LetGo(ctx, p.kyma, p.unreached); err != nil {
				return PurgeResult{}, err
			}
		}
	}
	if err := p.release(ctx); err != nil {
		return PurgeResult{}, err
	}
	slices.Sort(p.names)
	slices.Sort(p.stays)
	return PurgeResult{
		Outcome: OutcomeRemoved, Forced: len(p.names), Names: first(p.names), Stays: first(p.stays), Unreached: p.unreached,
	}, a.kickPurged(ctx, p)
}

func first(names []string) []string { return names[:min(len(names), maxPurgeNames)] }

// kymaRefOf is the Kyma that a Manifest belongs to, as its owner reference has it.
func kymaRefOf(m *v1beta2.Manifest) kick.Ref {
	ref := kick.Ref{Namespace: m.Namespace, Name: m.KymaName()}
	if owner := metav1.GetControllerOf(m); owner != nil && owner.Kind == shared.KindKyma {
		ref.Name, ref.UID = owner.Name, owner.UID
	}
	return ref
}

// kickPurged wakes the Kyma's workflow, which waits for this Manifest to be gone.
func (a *Activities) kickPurged(ctx context.Context, p *purger) error {
	err := a.options.Kymas.OpenKyma(ctx, p.kyma, kick.Kick{
		Reason: "Manifest was purged", Kind: shared.KindManifest, Namespace: p.manifest.Namespace, Name: p.manifest.Name, Urgent: true,
	})
	if err != nil {
		return fmt.Errorf("tell Kyma %s that Manifest %s was purged: %w", p.kyma, p.manifest.Name, err)
	}
	return nil
}

// release takes all finalizers off the Manifest that a purge may take off: it is ours, whoever else holds it.
func (p *purger) release(ctx context.Context) error {
	control := p.activities.options.ControlPlane
	for try := 1; ; try++ {
		off, stay := p.activities.options.PurgeRules.Split(othersFinalizers(p.manifest))
		object := purge.Object{
			Kind: shared.KindManifest, Namespace: p.manifest.Namespace, Name: p.manifest.Name, UID: p.manifest.UID,
			Finalizers: off, In: "the control plane",
		}
		if len(off) > 0 {
			if err := p.activities.options.Purges.Announce(ctx, p.kyma, object); err != nil {
				return err
			}
		}
		before := p.manifest.DeepCopy()
		p.manifest.Finalizers = stay
		if len(stay) == len(before.Finalizers) {
			return nil
		}
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		err := control.Patch(ctx, p.manifest, patch, client.FieldOwner(shared.FieldManagerLifecycleManager))
		switch {
		case err == nil && len(off) > 0:
			p.forced(object)
			return nil
		case err == nil || apierrors.IsNotFound(err):
			return nil
		case !apierrors.IsConflict(err) || try == statusTries:
			return fmt.Errorf("release Manifest %s/%s: %w", before.Namespace, before.Name, err)
		}
		now, err := p.activities.read(ctx, kick.RefOf(before))
		if err != nil || now == nil {
			return err
		}
		p.manifest = now
	}
}

// forceObject takes off the finalizers that hold an object under deletion. It returns whether others stay.
func (p *purger) forceObject(ctx context.Context, r *remover, live *metav1.PartialObjectMetadata, kind string, resource clusters.Resource) error {
	name := types.NamespacedName{Namespace: live.Namespace, Name: live.Name}
	for try := 1; ; try++ {
		off, stay := p.activities.options.PurgeRules.Split(live.Finalizers)
		if held := p.activities.options.PurgeRules.Protected(stay); len(held) > 0 {
			p.stay(fmt.Sprintf("%s has finalizers that are never taken off: %v", describe(kind, name), held))
		}
		if len(off) == 0 {
			return nil
		}
		object := purge.Object{Kind: kind, Namespace: live.Namespace, Name: live.Name, UID: live.UID, Finalizers: off, In: p.place()}
		if err := p.activities.options.Purges.Announce(ctx, p.kyma, object); err != nil {
			return err
		}
		patch, err := finalizerPatch(live, stay)
		if err != nil {
			return err
		}
		api := r.cluster.Metadata.Resource(resource.GroupVersionResource).Namespace(live.Namespace)
		_, err = api.Patch(ctx, live.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: shared.FieldManagerLifecycleManager})
		switch {
		case err == nil:
			p.forced(object)
			return nil
		case apierrors.IsNotFound(err):
			return nil
		case !apierrors.IsConflict(err) || try == statusTries:
			return fmt.Errorf("take the finalizers off %s: %w", describe(kind, name), err)
		}
		now, err := api.Get(ctx, live.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && now.UID != live.UID {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", describe(kind, name), err)
		}
		live = now
	}
}
