package install

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/hint"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// RemoveManifest takes one pass of the removal, as far as it goes without waiting long: the default custom
// resource first, while its operator still runs; then, when no custom resource is left that a user made of the module's
// kinds, the resources in reverse order of their stages; the finalizers last. What it waits for is in Observed, with
// OutcomeWaiting. It can be cut off and taken up again at any point. Errors are faults.
func (a *Activities) RemoveManifest(ctx context.Context, in RemoveInput) (RemoveResult, error) {
	result, err := a.remove(ctx, in.Ref)
	if errors.Is(err, errChanged) {
		result, err = a.afterChange(ctx, in.Ref)
	}
	return result, err
}

// afterChange is the result of a pass that was cut off as the Manifest changed: it is gone, or was given a newer version.
func (a *Activities) afterChange(ctx context.Context, ref kick.Ref) (RemoveResult, error) {
	now, err := a.read(ctx, ref)
	if err != nil || now == nil {
		return RemoveResult{Outcome: OutcomeGone}, err
	}
	return RemoveResult{}, &fault.Error{
		Kind: fault.Transient, Reason: ReasonManifestChanged, RetryAfter: time.Second,
		Message: fmt.Sprintf("Manifest %s changed while it was removed", ref),
	}
}

const (
	// patience is how long a pass waits for a stage to be gone before it leaves that to a wait.
	patience = 3 * time.Second
	// patiencePause is the pause between two looks at it.
	patiencePause = 250 * time.Millisecond
)

func (a *Activities) remove(ctx context.Context, ref kick.Ref) (RemoveResult, error) {
	m, err := a.read(ctx, ref)
	if err != nil {
		return RemoveResult{}, err
	}
	switch {
	case m == nil:
		return RemoveResult{Outcome: OutcomeGone}, nil
	case m.DeletionTimestamp.IsZero():
		return RemoveResult{Outcome: OutcomeApplied}, nil
	case !hasOwnFinalizer(m):
		return RemoveResult{Outcome: OutcomeRemoved}, nil
	}
	stands, err := a.stands(ctx, m)
	if err != nil {
		return RemoveResult{}, err
	}
	if stands.refusal != nil {
		return RemoveResult{Outcome: OutcomeRefused, Observed: *stands.refusal}, nil
	}
	if stands.orphaned {
		a.teller.orphaned(m)
		return RemoveResult{Outcome: OutcomeRemoved}, a.release(ctx, m)
	}
	if m.IsSkipReconciliation() {
		if goes, err := a.kymaGoes(ctx, m); err != nil || !goes {
			return RemoveResult{Outcome: OutcomeSkipped, Observed: skipped(m)}, err
		}
	}
	if m.IsUnmanaged() {
		if err := a.unmanage(ctx, m); err != nil {
			return RemoveResult{}, err
		}
		return RemoveResult{Outcome: OutcomeRemoved}, nil
	}
	if handed, err := a.handOver(ctx, m); err != nil {
		return RemoveResult{}, err
	} else if handed {
		return RemoveResult{Outcome: OutcomeRemoved}, a.release(ctx, m)
	}
	if len(m.Status.Inventory) == 0 && m.Status.DefaultCR == nil {
		if err := a.recoverRemoval(ctx, m); err != nil {
			return RemoveResult{}, err
		}
	}
	if len(m.Status.Inventory) > 0 || m.Status.DefaultCR != nil {
		waiting, err := a.removeAll(ctx, m)
		if err != nil || waiting != nil {
			return waitingFor(waiting), err
		}
	}
	return RemoveResult{Outcome: OutcomeRemoved}, a.release(ctx, m)
}

func waitingFor(o *Observed) RemoveResult {
	if o == nil {
		return RemoveResult{}
	}
	return RemoveResult{Outcome: OutcomeWaiting, Observed: *o}
}

// removeAll removes what the Manifest brought and no other Kyma in the same cluster needs. It returns what it waits for,
// or nil when nothing is left.
func (a *Activities) removeAll(ctx context.Context, m *v1beta2.Manifest) (*Observed, error) {
	cluster, err := a.target(ctx, m)
	if err != nil {
		return nil, err
	}
	r := &remover{cluster: cluster, kinds: kinds{mapper: cluster.Mapper}, owner: ownerOf(m), gone: map[string]bool{}}
	waiting, err := a.removeModuleCRs(ctx, r, m)
	if err == nil && waiting != nil && waiting.Reason == ReasonWaitingForModuleCR {
		err = a.mend(ctx, m, *waiting)
	}
	if err != nil || waiting != nil {
		return waiting, err
	}
	own, stay, err := a.leaveToOthers(ctx, r, m, m.Status.Inventory)
	if err != nil {
		return nil, err
	}
	a.teller.left(m, stay)
	for s := stageCount - 1; s >= 0 && waiting == nil; s-- {
		entries := ofStage(own, s)
		if len(entries) == 0 {
			continue
		}
		if s == stageNamespaces {
			if r.siblings, err = a.siblings(ctx, m); err != nil {
				return nil, err
			}
			if r.siblings, err = a.asTheyAre(ctx, r.siblings); err != nil {
				return nil, err
			}
			r.siblings = append(r.siblings, r.used.manifests...)
		}
		if err := a.unchanged(ctx, m); err != nil {
			return nil, err
		}
		if waiting, err = a.removeStage(ctx, r, entries); err != nil {
			return nil, err
		}
	}
	a.teller.left(m, r.stays)
	if waiting == nil {
		// The Manifest goes: its inventory needs no more care.
		return nil, nil //nolint:nilnil // waiting for nothing is the good case
	}
	err = a.recordStatus(ctx, m, func(s *v1beta2.ManifestStatus) {
		setInventory(s, record(s.Inventory, nil, r.gone))
	})
	return waiting, err
}

// removeStage removes the objects of one stage and waits a little until they are gone.
func (a *Activities) removeStage(ctx context.Context, r *remover, entries []v1beta2.InventoryEntry) (*Observed, error) {
	for waited := time.Duration(0); ; waited += patiencePause {
		if err := a.removeOrLook(ctx, r, entries, waited == 0); err != nil {
			return nil, err
		}
		if len(r.left) == 0 {
			return nil, nil //nolint:nilnil // waiting for nothing is the good case
		}
		if waited >= patience {
			return stageWaits(r.left), nil
		}
		if err := pause(ctx, patiencePause); err != nil {
			return nil, err
		}
		var rest []v1beta2.InventoryEntry
		for _, e := range entries {
			if !r.gone[e.ID] {
				rest = append(rest, e)
			}
		}
		entries = rest
	}
}

// removeOrLook removes the objects, the first time, and then only looks what of them is left.
func (a *Activities) removeOrLook(ctx context.Context, r *remover, entries []v1beta2.InventoryEntry, first bool) error {
	r.left = nil
	if first {
		return r.removeAll(ctx, entries, a.options.Parallel)
	}
	left, err := r.lookAtStage(ctx, entries)
	if err != nil {
		return clusters.Classify(err)
	}
	r.left = left
	return nil
}

func stageWaits(left []string) *Observed {
	return &Observed{
		State: shared.StateDeleting, Reason: ReasonWaitingForResources,
		Message: fmt.Sprintf("waiting for %d resources to be gone: %s", len(left), some(left)),
	}
}

// removeModuleCRs deletes the default custom resource that we made, and what users made where its owner allowed that, and
// says what is left that the removal has to wait for.
func (a *Activities) removeModuleCRs(ctx context.Context, r *remover, m *v1beta2.Manifest) (*Observed, error) {
	for waited := time.Duration(0); ; waited += patiencePause {
		seen, err := a.blockingCRs(ctx, r, m)
		if err != nil {
			return nil, err
		}
		if err := a.deleteCRs(ctx, r, m, seen); err != nil {
			return nil, err
		}
		if seen.own == nil && !seen.allowed || waited >= patience {
			if seen.areUsers() {
				tellDataBlocks(a.teller, m, seen)
			}
			return seen.waits(), nil
		}
		if err := pause(ctx, patiencePause); err != nil {
			return nil, err
		}
	}
}

func hasOwnFinalizer(m *v1beta2.Manifest) bool { return len(othersFinalizers(m)) < len(m.Finalizers) }

// othersFinalizers are the finalizers that are not ours to release.
func othersFinalizers(m *v1beta2.Manifest) []string {
	others := []string{}
	for _, finalizer := range m.Finalizers {
		ours := false
		for _, own := range ownFinalizers() {
			ours = ours || finalizer == own
		}
		if !ours {
			others = append(others, finalizer)
		}
	}
	return others
}

// kymaGoes tells whether the Manifest's Kyma is gone or being deleted.
func (a *Activities) kymaGoes(ctx context.Context, m *v1beta2.Manifest) (bool, error) {
	owner := metav1.GetControllerOf(m)
	if owner == nil || owner.Kind != shared.KindKyma {
		return true, nil
	}
	kyma := &metav1.PartialObjectMetadata{}
	kyma.SetGroupVersionKind(v1beta2.GroupVersion.WithKind(shared.KindKyma))
	err := a.options.ControlPlane.Get(ctx, types.NamespacedName{Namespace: m.Namespace, Name: owner.Name}, kyma)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("read Kyma %s/%s: %w", m.Namespace, owner.Name, err)
	}
	return kyma.UID != owner.UID || !kyma.DeletionTimestamp.IsZero(), nil
}

// release takes our finalizers off, as the last thing done, from this very Manifest as it was read.
func (a *Activities) release(ctx context.Context, m *v1beta2.Manifest) error {
	for try := 1; ; try++ {
		others := othersFinalizers(m)
		if len(others) > 0 && !m.DeletionTimestamp.IsZero() {
			if _, err := a.writeStatus(ctx, m, func(s *v1beta2.ManifestStatus) {
				s.State = shared.StateDeleting
				s.LastOperation = v1beta2.NextLastOperation(s.LastOperation, shared.OtherFinalizersPresent(others), a.now()).WithHint(hint.OtherFinalizers)
			}); err != nil && fault.Of(err).Reason != clusters.ReasonConflict {
				return err
			}
			// Nobody of ours looks at the Manifest again, so its Kyma hears of it before.
			if err := a.kickKyma(ctx, m); err != nil {
				return err
			}
		}
		before := m.DeepCopy()
		m.Finalizers = others
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		err := a.options.ControlPlane.Patch(ctx, m, patch, client.FieldOwner(shared.FieldManagerLifecycleManager))
		if err == nil || apierrors.IsNotFound(err) {
			return nil
		}
		if !apierrors.IsConflict(err) || try == statusTries {
			return fmt.Errorf("release Manifest %s/%s: %w", before.Namespace, before.Name, err)
		}
		now, err := a.read(ctx, kick.RefOf(before))
		if err != nil || now == nil {
			return err
		}
		if err := tookOverMeanwhile(before, now); err != nil {
			return err
		}
		*m = *now
	}
}
