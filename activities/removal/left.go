package removal

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/kinds"
	"github.com/kyma-project/lifecycle-manager/activities/objects"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Remaining names what of a stage is still there and ours, with one request per kind.
func (r *Remover) Remaining(ctx context.Context, entries []v1beta2.InventoryEntry) ([]string, error) {
	byKind := map[schema.GroupVersionKind][]v1beta2.InventoryEntry{}
	for _, e := range entries {
		if gvk, _, err := e.Object(); err == nil {
			byKind[gvk] = append(byKind[gvk], e)
		}
	}
	var left []string
	for gvk, entries := range byKind {
		there, err := r.remainingOfKind(ctx, gvk, entries)
		if err != nil {
			return nil, err
		}
		left = append(left, there...)
	}
	return left, nil
}

// remainingOfKind names what of one kind is still there and ours. What lost the label by which it is listed is read
// by its name, until the first one that is gone: then there is news, whatever else is to be seen.
func (r *Remover) remainingOfKind(ctx context.Context, gvk schema.GroupVersionKind, entries []v1beta2.InventoryEntry) ([]string, error) {
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
		return objects.MetadataOf(ctx, r.Cluster, resource, r.Owner.Selector(), func(live *metav1.PartialObjectMetadata) {
			listed[types.NamespacedName{Namespace: live.Namespace, Name: live.Name}] = r.Owner.Owns(live)
		})
	})
	if err != nil {
		return nil, err
	}
	var left []string
	news := false
	for _, e := range entries {
		_, name, err := e.Object()
		if err != nil || kinds.IsProtected(gvk, name) {
			continue
		}
		ours, there := listed[name]
		if !there && !news {
			live, _, err := r.Live(ctx, gvk, name)
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", objects.Describe(gvk.Kind, name), err)
			}
			ours = live != nil && r.Owner.Owns(live)
			news = !ours
		}
		if ours {
			left = append(left, objects.Describe(gvk.Kind, name))
		}
	}
	return left, nil
}
