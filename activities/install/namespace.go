package install

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// leaveNamespace takes off a namespace that stays what this module put on it: the labels and annotations that are
// nobody else's. Of other objects there is nothing to take off.
func (r *remover) leaveNamespace(ctx context.Context, gvk schema.GroupVersionKind, live *metav1.PartialObjectMetadata, resource clusters.Resource) error {
	if !isShared(gvk.GroupKind()) || !live.DeletionTimestamp.IsZero() {
		return nil
	}
	managers := []string{r.owner.namespaceManager()}
	if r.owner.owns(live) {
		managers = append(managers, shared.FieldManagerModuleResources)
	}
	nothing, err := json.Marshal(map[string]any{
		"apiVersion": gvk.GroupVersion().String(), "kind": gvk.Kind, pathMetadata: map[string]any{"name": live.Name, "uid": live.UID},
	})
	if err != nil {
		return fmt.Errorf("encode namespace %s: %w", live.Name, err)
	}
	for _, manager := range managers {
		if !slices.ContainsFunc(live.ManagedFields, func(e metav1.ManagedFieldsEntry) bool { return e.Manager == manager }) {
			continue
		}
		_, err := r.cluster.Metadata.Resource(resource.GroupVersionResource).
			Patch(ctx, live.Name, applyPatch, nothing, metav1.PatchOptions{FieldManager: manager, Force: new(true)})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("take the module's labels off namespace %s: %w", live.Name, err)
		}
	}
	return nil
}

// namespaceManager is the field manager for namespaces that were there before the module.
func (o owner) namespaceManager() string { return shared.FieldManagerModuleResources + "/" + o.name }

// makeNamespace makes the remote namespace, which belongs to all modules: it carries no module's mark, and
// no module's removal deletes it. One that is there is as good.
func makeNamespace(ctx context.Context, c *clusters.Cluster, name string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name,
		Labels: map[string]string{
			shared.LabelManagedBy:      shared.ManagedByKyma,
			shared.LabelIstioInjection: shared.ValueEnabled,
			shared.LabelWardenValidate: shared.ValueEnabled,
		},
	}}
	err := c.Client.Create(ctx, namespace, client.FieldOwner(shared.FieldManagerLifecycleManager))
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make namespace %s: %w", name, err)
	}
	return nil
}
