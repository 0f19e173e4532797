package removal

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/apply"
)

// releaseNamespace removes the labels and annotations that only this module set from a namespace that stays. It does
// nothing for other kinds.
func (r *Remover) releaseNamespace(ctx context.Context, gvk schema.GroupVersionKind, live *metav1.PartialObjectMetadata, resource kinds.Resource) error {
	if !kinds.IsShared(gvk.GroupKind()) || !live.DeletionTimestamp.IsZero() {
		return nil
	}
	managers := []string{r.Owner.NamespaceManager()}
	if r.Owner.Owns(live) {
		managers = append(managers, shared.FieldManagerModuleResources)
	}
	for _, manager := range managers {
		if !slices.ContainsFunc(live.ManagedFields, func(e metav1.ManagedFieldsEntry) bool { return e.Manager == manager }) {
			continue
		}
		if err := r.reapply(ctx, gvk, live, resource, manager, nil); err != nil {
			return fmt.Errorf("remove the module's labels from namespace %s: %w", live.Name, err)
		}
	}
	return nil
}

// unmarkNamespace removes our marks from a namespace that does not belong to this module if only this module set
// them. An example is a namespace that the module created before it was first unmanaged. The module's own labels and
// annotations stay. Marks that other modules set stay too, because those modules own them as well.
func (r *Remover) unmarkNamespace(ctx context.Context, gvk schema.GroupVersionKind, live *metav1.PartialObjectMetadata, resource kinds.Resource) error {
	if !kinds.IsShared(gvk.GroupKind()) || !live.DeletionTimestamp.IsZero() {
		return nil
	}
	manager := r.Owner.NamespaceManager()
	owned := inventory.AppliedBy(live, manager)
	if owned == nil {
		return nil
	}
	kept := func(field string, set map[string]string, marks []string) map[string]string {
		rest := map[string]string{}
		for key, value := range set {
			if owned.Has(fieldpath.MakePathOrDie(kinds.PathMetadata, field, key)) && !slices.Contains(marks, key) {
				rest[key] = value
			}
		}
		return rest
	}
	err := r.reapply(ctx, gvk, live, resource, manager, map[string]any{
		kinds.PathLabels:      kept(kinds.PathLabels, live.Labels, markLabels()),
		kinds.PathAnnotations: kept(kinds.PathAnnotations, live.Annotations, markAnnotations()),
	})
	if err != nil {
		return fmt.Errorf("remove the marks from namespace %s: %w", live.Name, err)
	}
	return nil
}

// reapply applies only this metadata of a namespace with a field manager. The manager thereby gives up all other
// fields that it owned. If the namespace does not exist or has another uid, there is nothing to give up.
func (r *Remover) reapply(
	ctx context.Context, gvk schema.GroupVersionKind, live *metav1.PartialObjectMetadata, resource kinds.Resource,
	manager string, metadata map[string]any,
) error {
	identity := map[string]any{"name": live.Name, "uid": live.UID}
	maps.Copy(identity, metadata)
	body, err := json.Marshal(map[string]any{
		"apiVersion": gvk.GroupVersion().String(), "kind": gvk.Kind, kinds.PathMetadata: identity,
	})
	if err != nil {
		return fmt.Errorf("encode it: %w", err)
	}
	_, err = r.Cluster.Metadata.Resource(resource.GroupVersionResource).
		Patch(ctx, live.Name, apply.ApplyPatch, body, metav1.PatchOptions{FieldManager: manager, Force: new(true)})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
