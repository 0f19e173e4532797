package collectors

import (
	"context"
	"fmt"
	"slices"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// follower is told of the objects of a kind, each by namespace and name.
type follower struct {
	// set is told of an object as it is now, and whether that is from the list at start.
	set func(key string, object client.Object, listed bool)
	// gone is told that there is none any more.
	gone func(key string)
}

// follow tells a follower of every object of a kind and of every change.
func follow(ctx context.Context, informers cache.Informers, kind client.Object, f follower) (toolscache.ResourceEventHandlerRegistration, error) {
	informer, err := informers.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("follow %T: %w", kind, err)
	}
	set := func(changed any, listed bool) {
		if object, ok := changed.(client.Object); ok {
			f.set(client.ObjectKeyFromObject(object).String(), object, listed)
		}
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    set,
		UpdateFunc: func(_, now any) { set(now, false) },
		DeleteFunc: func(last any) {
			// Of an object that was deleted while nobody watched, only the key is sure to be known.
			if key, err := toolscache.DeletionHandlingMetaNamespaceKeyFunc(last); err == nil {
				f.gone(key)
			}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("follow %T: %w", kind, err)
	}
	return registration, nil
}

// allSynced tells whether all that was listed at start has been told: a part of the fleet would be taken for the whole.
func allSynced(following []toolscache.ResourceEventHandlerRegistration) bool {
	return !slices.ContainsFunc(following, func(each toolscache.ResourceEventHandlerRegistration) bool { return !each.HasSynced() })
}

// isClosed tells whether this process leads.
func isClosed(leads <-chan struct{}) bool {
	select {
	case <-leads:
		return true
	default:
		return false
	}
}
