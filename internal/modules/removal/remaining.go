package removal

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
)

// Remaining returns the objects of a stage that still exist and are ours, with one request per kind.
func (r *Remover) Remaining(ctx context.Context, entries []v1beta2.InventoryEntry) ([]string, error) {
	byKind := map[schema.GroupVersionKind][]v1beta2.InventoryEntry{}
	for _, e := range entries {
		if gvk, _, err := e.Object(); err == nil {
			byKind[gvk] = append(byKind[gvk], e)
		}
	}
	var remaining []string
	for gvk, entries := range byKind {
		there, err := r.remainingOfKind(ctx, gvk, entries)
		if err != nil {
			return nil, err
		}
		remaining = append(remaining, there...)
	}
	return remaining, nil
}

// remainingOfKind returns the objects of one kind that still exist and are ours. An object that is not listed may
// have lost its label, so it is read by name. The first one that has been deleted ends these reads, because it is
// already a change.
func (r *Remover) remainingOfKind(ctx context.Context, gvk schema.GroupVersionKind, entries []v1beta2.InventoryEntry) ([]string, error) {
	listed := map[types.NamespacedName]bool{}
	resources, err := r.resources(ctx, gvk)
	if err != nil {
		return nil, kinds.IgnoreNoMatch(fmt.Errorf("look up kind %s: %w", gvk.Kind, err))
	}
	_, err = inOneOf(resources, func(resource kinds.Resource) error {
		clear(listed)
		return objects.MetadataOf(ctx, r.Cluster, resource, r.Owner.Selector(), func(live *metav1.PartialObjectMetadata) {
			listed[types.NamespacedName{Namespace: live.Namespace, Name: live.Name}] = r.Owner.Owns(live)
		})
	})
	if err != nil {
		return nil, err
	}
	var remaining []string
	changed := false
	for _, e := range entries {
		_, name, err := e.Object()
		if err != nil || r.IsProtected(gvk, name) {
			continue
		}
		ours, there := listed[name]
		if !there && !changed {
			live, _, err := r.Live(ctx, gvk, name)
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", objects.Describe(gvk.Kind, name), err)
			}
			ours = live != nil && r.Owner.Owns(live)
			changed = !ours
		}
		if ours {
			remaining = append(remaining, objects.Describe(gvk.Kind, name))
		}
	}
	return remaining, nil
}
