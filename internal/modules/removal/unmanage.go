package removal

import (
	"context"
	"encoding/json"
	"fmt"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
)

// Unmanage releases a module that its user set to unmanaged. The installed objects stay, without the marks on which
// we and others rely to change or remove them. Then the inventory is cleared and the finalizers are removed, so that
// the Manifest can be deleted without its objects.
func (a *Removals) Unmanage(ctx context.Context, m *v1beta2.Manifest) error {
	if len(m.Status.Inventory) > 0 || m.Status.DefaultCR != nil {
		if err := a.Unmark(ctx, m); err != nil {
			return err
		}
		if err := a.steps.RecordStatus(ctx, m, func(s *v1beta2.ManifestStatus) {
			inventory.SetInventory(s, nil)
			s.DefaultCR, s.Counts = nil, nil
		}); err != nil {
			return err
		}
	}
	if !manifests.HasOwnFinalizer(m) {
		return nil
	}
	return a.steps.RemoveFinalizers(ctx, m)
}

// ReleaseUnmanaged unmanages a module with a Manifest that is not being deleted, and then deletes the Manifest, which
// is no longer used. A module that is managed again gets a new Manifest.
func (a *Removals) ReleaseUnmanaged(ctx context.Context, m *v1beta2.Manifest) error {
	if err := a.Unmanage(ctx, m); err != nil {
		return err
	}
	err := a.steps.Options.ControlPlane.Delete(ctx, m, client.Preconditions{UID: &m.UID})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete Manifest %s of a module that is not managed: %w", inventory.MarkOf(m), err)
	}
	return nil
}

// Unmark removes our labels and annotations from all objects that carry them.
func (a *Removals) Unmark(ctx context.Context, m *v1beta2.Manifest) error {
	cluster, err := a.steps.Target(ctx, m)
	if err != nil {
		return err
	}
	r := NewRemover(m, cluster)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(a.applier.Options.Parallel)
	for _, e := range m.Status.Inventory {
		gvk, name, err := e.Object()
		if err != nil {
			// This entry never identified an object.
			continue
		}
		group.Go(func() error { return r.unmark(ctx, gvk, name, r.Owner.Owns) })
	}
	if recorded := m.Status.DefaultCR; recorded != nil {
		gvk, name := inventory.RecordedCR(recorded)
		group.Go(func() error {
			return r.unmark(ctx, gvk, name, func(live metav1.Object) bool {
				return string(live.GetUID()) == recorded.UID || inventory.CreatedByUs(live)
			})
		})
	}
	return clusters.Classify(group.Wait())
}

func (r *Remover) unmark(ctx context.Context, gvk schema.GroupVersionKind, name types.NamespacedName, ours func(metav1.Object) bool) error {
	described := objects.Describe(gvk.Kind, name)
	live, resource, err := r.Live(ctx, gvk, name)
	if err != nil {
		return fmt.Errorf("read %s: %w", described, err)
	}
	if live == nil {
		return nil
	}
	if !ours(live) {
		return r.unmarkNamespace(ctx, gvk, live, resource)
	}
	patch, err := json.Marshal(map[string]any{kinds.PathMetadata: map[string]any{
		"uid":            live.UID,
		kinds.PathLabels: noneOf(markLabels()), kinds.PathAnnotations: noneOf(markAnnotations()),
	}})
	if err != nil {
		return fmt.Errorf("encode the patch of %s: %w", described, err)
	}
	_, err = r.Cluster.Metadata.Resource(resource.GroupVersionResource).Namespace(name.Namespace).
		Patch(ctx, name.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: shared.FieldManagerLifecycleManager})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("remove the marks from %s: %w", described, err)
	}
	return nil
}
