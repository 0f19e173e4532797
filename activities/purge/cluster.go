package purge

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

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/adoption"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/modules/removal"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// purger forces the removal of everything that one Manifest has left.
type purger struct {
	activities     *Activities
	manifest       *v1beta2.Manifest
	kyma           kick.Ref
	abandonCluster bool
	unreached      string
	// remover is nil before the cluster has been reached.
	remover *removal.Remover

	mu           sync.Mutex
	names, stays []string
	// deleted counts the deleted custom resources.
	deleted int
}

// progressed reports whether anything was deleted or forced.
func (p *purger) progressed() bool {
	if len(p.names) > 0 || p.deleted > 0 {
		return true
	}
	return p.remover != nil && p.remover.Deleted > 0
}

func (p *purger) forced(o Object) {
	p.activities.Options.Purges.Done(p.kyma, o)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.names = append(p.names, o.String())
}

func (p *purger) stay(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stays = append(p.stays, what)
}

// place names the cluster in messages.
func (p *purger) place() string {
	if !desired.InControlPlane(p.manifest) {
		return "the remote cluster"
	}
	return "the control plane's cluster"
}

// cluster forces the removal of everything that the Manifest brought into its cluster.
func (p *purger) cluster(ctx context.Context) error {
	m, a := p.manifest, p.activities
	if err := adoption.Adopt(ctx, a.steps, m); err != nil {
		return clusters.Classify(err)
	}
	if m.IsUnmanaged() {
		return clusters.Classify(a.removals.Unmark(ctx, m))
	}
	// Objects shared by several Kymas are removed with the last of these Kymas.
	if handed, err := a.steps.HandOver(ctx, m); handed || err != nil {
		return clusters.Classify(err)
	}
	if len(m.Status.Inventory) == 0 && m.Status.DefaultCR == nil {
		if err := a.removals.RecoverRemoval(ctx, m); err != nil {
			return clusters.Classify(err)
		}
	}
	if len(m.Status.Inventory) == 0 && m.Status.DefaultCR == nil {
		return nil
	}
	cluster, err := a.steps.Target(ctx, m)
	if err != nil {
		return err
	}
	r := removal.NewRemover(m, cluster)
	p.remover = r
	defer func() {
		a.steps.Recorder.KeptByPolicy(m, r.KeptByPolicy)
		for _, what := range r.KeptByPolicy {
			p.stay(what + " is kept by helm.sh/resource-policy")
		}
	}()
	entries, stay, err := a.removals.HandOverToOthers(ctx, r, m, m.Status.Inventory)
	if err != nil {
		return err
	}
	for _, what := range stay {
		p.stay(what)
	}
	r.OtherModules = r.Used.Manifests
	if err := p.customResources(ctx, r, entries); err != nil {
		// The operator may be down. Then its webhooks, which every change of its custom resources goes through, are down
		// too.
		if admissionErr := p.stage(ctx, r, inventory.OfStage(entries, kinds.StageAdmission)); admissionErr != nil {
			return clusters.Classify(errors.Join(err, admissionErr))
		}
		if err := p.withoutConversion(ctx, r, entries); err != nil {
			return clusters.Classify(err)
		}
		if err := p.customResources(ctx, r, entries); err != nil && !p.abandonCluster {
			return clusters.Classify(err)
		} else if err != nil {
			p.stay(fault.Message(err.Error()))
		}
	}
	var failed []error
	for s := kinds.StageCount - 1; s >= 0; s-- {
		if err := p.stage(ctx, r, inventory.OfStage(entries, s)); err != nil {
			failed = append(failed, err)
		}
	}
	for _, what := range r.Kept {
		p.stay(what)
	}
	return clusters.Classify(errors.Join(failed...))
}

// stage deletes the objects of one stage, waits briefly, and removes the finalizers of the remaining objects.
func (p *purger) stage(ctx context.Context, r *removal.Remover, entries []v1beta2.InventoryEntry) error {
	if len(entries) == 0 {
		return nil
	}
	if err := p.activities.steps.Unchanged(ctx, p.manifest); err != nil {
		return err
	}
	waiting, err := p.activities.removals.RemoveStage(ctx, r, entries)
	if waiting == nil || err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(p.activities.applier.Options.Parallel)
	for _, e := range entries {
		gvk, name, err := e.Object()
		if err != nil || r.Gone[e.ID] {
			continue
		}
		group.Go(func() error {
			live, resource, err := r.Live(ctx, gvk, name)
			if err != nil {
				return fmt.Errorf("read %s: %w", objects.Describe(gvk.Kind, name), err)
			}
			if live == nil || !r.Owner.Owns(live) || live.DeletionTimestamp.IsZero() {
				return nil
			}
			return p.forceObject(ctx, r, live, gvk.Kind, resource)
		})
	}
	return group.Wait()
}

// withoutConversion disables the conversion webhook of the CRDs that will be deleted, because the webhook may be down.
func (p *purger) withoutConversion(ctx context.Context, r *removal.Remover, entries []v1beta2.InventoryEntry) error {
	patch, err := json.Marshal(map[string]any{kinds.PathSpec: map[string]any{
		kinds.PathConversion: map[string]any{"strategy": "None", kinds.PathWebhookClient: nil},
	}})
	if err != nil {
		return fmt.Errorf("encode a conversion: %w", err)
	}
	return r.EachOwnDefinition(ctx, entries, func(name string, resource kinds.Resource) error {
		_, err := r.Cluster.Metadata.Resource(resource.GroupVersionResource).
			Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: shared.FieldManagerLifecycleManager})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("switch off the conversion of %s: %w", name, err)
		}
		return nil
	})
}

// finalizerPatch returns a patch that sets the finalizers of exactly this version of an object.
func finalizerPatch(live *metav1.PartialObjectMetadata, finalizers []string) ([]byte, error) {
	if finalizers == nil {
		finalizers = []string{}
	}
	patch, err := json.Marshal(map[string]any{kinds.PathMetadata: map[string]any{
		"uid": live.UID, "resourceVersion": live.ResourceVersion, "finalizers": finalizers,
	}})
	if err != nil {
		return nil, fmt.Errorf("encode the finalizers of %s/%s: %w", live.Namespace, live.Name, err)
	}
	return patch, nil
}

// poll checks a condition until it is true, for at most removal.Patience.
func poll(ctx context.Context, condition func() (bool, error)) error {
	for waited := time.Duration(0); waited < removal.Patience; waited += removal.PatiencePause {
		done, err := condition()
		if done || err != nil {
			return err
		}
		if err := objects.Sleep(ctx, removal.PatiencePause); err != nil {
			return err
		}
	}
	return nil
}

// notServed reports whether an error means that the kind is no longer served.
func notServed(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }
