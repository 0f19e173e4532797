package readiness

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
)

type objectsByName map[types.NamespacedName]*unstructured.Unstructured

// list reads the objects of a kind that match a selector, by the names of their Manifests. Of definitions it reads
// only the metadata, because they are very large, and known to be established since they were applied.
func list(
	ctx context.Context, c *clusters.Cluster, gvk schema.GroupVersionKind, resource kinds.Resource, selector string,
) (map[string]objectsByName, error) {
	found := map[string]objectsByName{}
	add := func(manifest string, u *unstructured.Unstructured) {
		if found[manifest] == nil {
			found[manifest] = objectsByName{}
		}
		found[manifest][types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}] = u
	}
	err := objects.Pages(metav1.ListOptions{LabelSelector: selector}, func(options metav1.ListOptions) (string, error) {
		if kinds.ExistenceOnly(gvk) {
			page, err := c.Metadata.Resource(resource.GroupVersionResource).List(ctx, options)
			if err != nil {
				return "", err
			}
			for i := range page.Items {
				u := &unstructured.Unstructured{}
				u.SetGroupVersionKind(gvk)
				u.SetName(page.Items[i].Name)
				u.SetDeletionTimestamp(page.Items[i].DeletionTimestamp)
				u.SetFinalizers(page.Items[i].Finalizers)
				add(page.Items[i].Labels[shared.LabelComponent], u)
			}
			return page.Continue, nil
		}
		page, err := c.Dynamic.Resource(resource.GroupVersionResource).List(ctx, options)
		if err != nil {
			return "", err
		}
		for i := range page.Items {
			add(page.Items[i].GetLabels()[shared.LabelComponent], &page.Items[i])
		}
		return page.GetContinue(), nil
	})
	return found, objects.IgnoreUnserved(err)
}

// Round is one read of several modules. It sends one LIST for each kind and cluster instead of one for each module.
// It is safe for concurrent use.
type Round struct {
	selector string
	mu       sync.Mutex
	lists    map[listed]*sharedList
}

// listed identifies a LIST.
type listed struct {
	cluster *clusters.Cluster
	gvk     schema.GroupVersionKind
}

// sharedList is a LIST. found and err are valid after done is closed.
type sharedList struct {
	done  chan struct{}
	found map[string]objectsByName
	err   error
}

// NewRound returns a Round for modules with Manifests of these names.
func NewRound(manifests []string) *Round {
	return &Round{selector: inventory.SelectorOf(manifests...), lists: map[listed]*sharedList{}}
}

// listLimit limits a shared LIST. The LIST does not end with the read of the module that began it.
const listLimit = 8 * time.Second

// list waits for the LIST that the first module of the round began.
func (r *Round) list(
	ctx context.Context, c *clusters.Cluster, gvk schema.GroupVersionKind, resource kinds.Resource,
) (map[string]objectsByName, error) {
	r.mu.Lock()
	of := listed{c, gvk}
	l, begun := r.lists[of]
	if !begun {
		l = &sharedList{done: make(chan struct{})}
		r.lists[of] = l
		go func() {
			defer close(l.done)
			detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), listLimit)
			defer cancel()
			l.found, l.err = list(detached, c, gvk, resource, r.selector)
		}()
	}
	r.mu.Unlock()
	select {
	case <-l.done:
		return l.found, l.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
