package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/purge"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// purger forces what one Manifest left.
type purger struct {
	activities *Activities
	manifest   *v1beta2.Manifest
	kyma       kick.Ref
	letGo      bool
	unreached  string
	// remover is nil until the cluster was reached.
	remover *remover

	mu           sync.Mutex
	names, stays []string
	// deleted counts the custom resources that were deleted.
	deleted int
}

// progressed tells whether something was deleted or forced.
func (p *purger) progressed() bool {
	if len(p.names) > 0 || p.deleted > 0 {
		return true
	}
	return p.remover != nil && p.remover.deleted > 0
}

func (p *purger) forced(o purge.Object) {
	p.activities.options.Purges.Done(p.kyma, o)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.names = append(p.names, o.String())
}

func (p *purger) stay(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stays = append(p.stays, what)
}

// place names the cluster for people.
func (p *purger) place() string {
	if !desired.InControlPlane(p.manifest) {
		return "the remote cluster"
	}
	return "the control plane's cluster"
}

// cluster forces what the Manifest brought into its cluster.
func (p *purger) cluster(ctx context.Context) error {
	m, a := p.manifest, p.activities
	if m.IsUnmanaged() {
		return clusters.Classify(a.unmark(ctx, m))
	}
	// What several Kymas share goes with the last of them.
	if handed, err := a.handOver(ctx, m); handed || err != nil {
		return clusters.Classify(err)
	}
	if len(m.Status.Inventory) == 0 && m.Status.DefaultCR == nil {
		if err := a.recoverRemoval(ctx, m); err != nil {
			return clusters.Classify(err)
		}
	}
	if len(m.Status.Inventory) == 0 && m.Status.DefaultCR == nil {
		return nil
	}
	cluster, err := a.target(ctx, m)
	if err != nil {
		return err
	}
	r := &remover{cluster: cluster, kinds: kinds{mapper: cluster.Mapper}, owner: ownerOf(m), gone: map[string]bool{}}
	p.remover = r
	entries, stay, err := a.leaveToOthers(ctx, r, m, m.Status.Inventory)
	if err != nil {
		return err
	}
	for _, what := range stay {
		p.stay(what)
	}
	r.siblings = r.used.manifests
	if err := p.customResources(ctx, r, entries); err != nil {
		// The operator may be dead, and with it the webhooks that every change of its custom resources goes through.
		if gate := p.stage(ctx, r, ofStage(entries, stageAdmission)); gate != nil {
			return clusters.Classify(errors.Join(err, gate))
		}
		if err := p.withoutConversion(ctx, r, entries); err != nil {
			return clusters.Classify(err)
		}
		if err := p.customResources(ctx, r, entries); err != nil && !p.letGo {
			return clusters.Classify(err)
		} else if err != nil {
			p.stay(fault.Message(err.Error()))
		}
	}
	var failed []error
	for s := stageCount - 1; s >= 0; s-- {
		if err := p.stage(ctx, r, ofStage(entries, s)); err != nil {
			failed = append(failed, err)
		}
	}
	for _, what := range r.stays {
		p.stay(what)
	}
	return clusters.Classify(errors.Join(failed...))
}

// stage deletes the objects of one stage, waits a little, and takes off the finalizers of those that are left.
func (p *purger) stage(ctx context.Context, r *remover, entries []v1beta2.InventoryEntry) error {
	if len(entries) == 0 {
		return nil
	}
	if err := p.activities.unchanged(ctx, p.manifest); err != nil {
		return err
	}
	waiting, err := p.activities.removeStage(ctx, r, entries)
	if waiting == nil || err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(p.activities.options.Parallel)
	for _, e := range entries {
		gvk, name, err := e.Object()
		if err != nil || r.gone[e.ID] {
			continue
		}
		group.Go(func() error {
			live, resource, err := r.live(ctx, gvk, name)
			if err != nil {
				return fmt.Errorf("read %s: %w", describe(gvk.Kind, name), err)
			}
			if live == nil || !r.owner.owns(live) || live.DeletionTimestamp.IsZero() {
				return nil
			}
			return p.forceObject(ctx, r, live, gvk.Kind, resource)
		})
	}
	return group.Wait()
}

// withoutConversion makes definitions that are to go convert nothing: the webhook that did may be dead.
func (p *purger) withoutConversion(ctx context.Context, r *remover, entries []v1beta2.InventoryEntry) error {
	patch, err := json.Marshal(map[string]any{pathSpec: map[string]any{
		pathConversion: map[string]any{"strategy": "None", pathWebhookClient: nil},
	}})
	if err != nil {
		return fmt.Errorf("encode a conversion: %w", err)
	}
	return r.eachOwnDefinition(ctx, entries, func(name string, resource clusters.Resource) error {
		_, err := r.cluster.Metadata.Resource(resource.GroupVersionResource).
			Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: shared.FieldManagerLifecycleManager})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("switch off the conversion of %s: %w", name, err)
		}
		return nil
	})
}

// eachOwnDefinition calls do for each CustomResourceDefinition among the entries that is there and the module's own.
func (r *remover) eachOwnDefinition(ctx context.Context, entries []v1beta2.InventoryEntry, do func(name string, resource clusters.Resource) error) error {
	for _, e := range ofStage(entries, stageDefinitions) {
		gvk, name, err := e.Object()
		if err != nil || isProtected(gvk, name) {
			continue
		}
		live, resource, err := r.live(ctx, gvk, name)
		if err != nil {
			return fmt.Errorf("read %s: %w", describe(gvk.Kind, name), err)
		}
		if live == nil || !r.owner.owns(live) {
			continue
		}
		if err := do(name.Name, resource); err != nil {
			return err
		}
	}
	return nil
}

// finalizerPatch sets the finalizers of this very version of an object.
func finalizerPatch(live *metav1.PartialObjectMetadata, finalizers []string) ([]byte, error) {
	if finalizers == nil {
		finalizers = []string{}
	}
	patch, err := json.Marshal(map[string]any{pathMetadata: map[string]any{
		"uid": live.UID, "resourceVersion": live.ResourceVersion, "finalizers": finalizers,
	}})
	if err != nil {
		return nil, fmt.Errorf("encode the finalizers of %s/%s: %w", live.Namespace, live.Name, err)
	}
	return patch, nil
}

// poll looks until something is so, at most for the patience of a step.
func poll(ctx context.Context, isSo func() (bool, error)) error {
	for waited := time.Duration(0); waited < patience; waited += patiencePause {
		done, err := isSo()
		if done || err != nil {
			return err
		}
		if err := pause(ctx, patiencePause); err != nil {
			return err
		}
	}
	return nil
}

// notServed tells whether an error says that nobody serves a kind any more.
func notServed(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }
