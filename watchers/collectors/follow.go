package collectors

import (
	"context"
	"fmt"
	"slices"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// follower receives the objects of one kind, each by namespace and name.
type follower struct {
	// set is called with the present object. listed is true if the object comes from the initial list.
	set func(key string, object client.Object, listed bool)
	// gone is called when the object was deleted.
	gone func(key string)
}

// follow calls the follower for every object of a kind and for every change.
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
			// Only the key is certain for an object that was deleted while the watch was interrupted.
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

// allSynced reports whether the followers have received the whole initial list. Before that, they know only a part of
// the fleet.
func allSynced(following []toolscache.ResourceEventHandlerRegistration) bool {
	return !slices.ContainsFunc(following, func(each toolscache.ResourceEventHandlerRegistration) bool { return !each.HasSynced() })
}

// isClosed reports whether this process leads.
func isClosed(leads <-chan struct{}) bool {
	select {
	case <-leads:
		return true
	default:
		return false
	}
}
