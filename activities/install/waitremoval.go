package install

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// WaitRemoval looks once at what a removal waits for and returns when that is not what was last reported, so
// that another pass of RemoveManifest makes sense. Otherwise it is a benign fault.Pending error. After 5
// failed reads in a row it returns their fault. It writes nothing.
func (a *Activities) WaitRemoval(ctx context.Context, in RemoveInput) (RemoveResult, error) {
	w := waitOf(ctx, a.options.Clock())
	look, cancel := context.WithTimeout(ctx, attemptLimit)
	defer cancel()
	result, err := a.lookAtRemoval(look, in.Ref)
	if err != nil {
		return RemoveResult{}, w.failed(ctx, err)
	}
	if result.Outcome != OutcomeWaiting || result.Observed != in.Reported {
		return result, nil
	}
	return RemoveResult{}, w.pending(ctx, "the removal")
}

// lookAtRemoval says what a removal waits for. OutcomeRemoved means that nothing is left to wait for.
func (a *Activities) lookAtRemoval(ctx context.Context, ref kick.Ref) (RemoveResult, error) {
	m, err := a.read(ctx, ref)
	if err != nil {
		return RemoveResult{}, err
	}
	switch {
	case m == nil:
		return RemoveResult{Outcome: OutcomeGone}, nil
	case m.DeletionTimestamp.IsZero():
		return RemoveResult{Outcome: OutcomeApplied}, nil
	}
	cluster, err := a.reach(ctx, m)
	if err != nil {
		return RemoveResult{}, err
	}
	r := &remover{cluster: cluster, kinds: kinds{mapper: cluster.Mapper}, owner: ownerOf(m), gone: map[string]bool{}}
	seen, err := a.blockingCRs(ctx, r, m)
	if err != nil {
		return RemoveResult{}, err
	}
	if waiting := seen.waits(); waiting != nil {
		return waitingFor(waiting), nil
	}
	for s := stageCount - 1; s >= 0; s-- {
		left, err := r.lookAtStage(ctx, ofStage(m.Status.Inventory, s))
		if err != nil {
			return RemoveResult{}, clusters.Classify(err)
		}
		if len(left) > 0 {
			return waitingFor(stageWaits(left)), nil
		}
	}
	return RemoveResult{Outcome: OutcomeRemoved}, nil
}

// lookAtStage names what of a stage is still there and ours, with one request per kind.
func (r *remover) lookAtStage(ctx context.Context, entries []v1beta2.InventoryEntry) ([]string, error) {
	byKind := map[schema.GroupVersionKind][]v1beta2.InventoryEntry{}
	for _, e := range entries {
		if gvk, _, err := e.Object(); err == nil {
			byKind[gvk] = append(byKind[gvk], e)
		}
	}
	var left []string
	for gvk, entries := range byKind {
		there, err := r.lookAtKind(ctx, gvk, entries)
		if err != nil {
			return nil, err
		}
		left = append(left, there...)
	}
	return left, nil
}

// lookAtKind names what of one kind is still there and ours. What lost the label by which it is listed is read
// by its name, until the first one that is gone: then there is news, whatever else is to be seen.
func (r *remover) lookAtKind(ctx context.Context, gvk schema.GroupVersionKind, entries []v1beta2.InventoryEntry) ([]string, error) {
	listed := map[types.NamespacedName]bool{}
	resources, err := r.resources(ctx, gvk)
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look up kind %s: %w", gvk.Kind, err)
	}
	_, err = inOneOf(resources, func(resource clusters.Resource) error {
		clear(listed)
		return metadataOf(ctx, r.cluster, resource, r.owner.selector(), func(live *metav1.PartialObjectMetadata) {
			listed[types.NamespacedName{Namespace: live.Namespace, Name: live.Name}] = r.owner.owns(live)
		})
	})
	if err != nil {
		return nil, err
	}
	var left []string
	news := false
	for _, e := range entries {
		_, name, err := e.Object()
		if err != nil || isProtected(gvk, name) {
			continue
		}
		ours, there := listed[name]
		if !there && !news {
			live, _, err := r.live(ctx, gvk, name)
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", describe(gvk.Kind, name), err)
			}
			ours = live != nil && r.owner.owns(live)
			news = !ours
		}
		if ours {
			left = append(left, describe(gvk.Kind, name))
		}
	}
	return left, nil
}
