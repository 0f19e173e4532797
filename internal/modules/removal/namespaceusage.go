package removal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"

	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// Deleting a namespace deletes all objects in it. So a namespace that a module created is deleted with the module
// only if nothing else uses it: no object of any kind that belongs to somebody else. A kind that cannot be listed may
// have such objects.

// answerLimit bounds the LIST of a kind that is not built in, so that an aggregated API that does not answer cannot
// block a removal.
const answerLimit = 5 * time.Second

func (k namespaceKind) groupKind() schema.GroupKind {
	return schema.GroupKind{Group: k.Group, Kind: k.kind}
}

// usedByOthers returns what shows that somebody else uses a namespace that we created, or why that cannot be ruled
// out; "" if nobody does.
func (r *Remover) usedByOthers(ctx context.Context, namespace string) (string, error) {
	r.namespaceKinds.once.Do(func() { r.namespaceKinds.discover(ctx, r.Cluster) })
	if r.namespaceKinds.err != nil {
		return "", fmt.Errorf("discover the kinds of the cluster: %w", r.namespaceKinds.err)
	}
	u := namespaceUsage{remover: r, namespace: namespace, deleting: map[types.UID]bool{}}
	for _, kind := range r.namespaceKinds.kinds {
		found, err := u.find(ctx, kind)
		if err != nil || found != "" {
			return found, err
		}
	}
	if len(r.namespaceKinds.unknown) > 0 {
		return "the API server does not say which objects of " + strings.Join(r.namespaceKinds.unknown, ", ") + " are in it", nil
	}
	return "", nil
}

// discover reads the kinds whose objects are deleted with their namespace, because they can be deleted. It records
// groups that do not answer.
func (n *namespaceKinds) discover(ctx context.Context, c *clusters.Cluster) {
	if n.err = c.Ready(ctx); n.err != nil {
		return
	}
	served, err := discovery.ServerPreferredNamespacedResourcesWithContext(ctx, discovery.ToDiscoveryInterfaceWithContext(c.Discovery))
	var failed *discovery.ErrGroupDiscoveryFailed
	switch {
	case errors.As(err, &failed):
		for gv := range failed.Groups {
			if !isGenerated(schema.GroupKind{Group: gv.Group}) {
				n.unknown = append(n.unknown, gv.String())
			}
		}
		slices.Sort(n.unknown)
	case err != nil:
		n.err = err
		return
	}
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "delete"}}, served) {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, resource := range list.APIResources {
			if !strings.Contains(resource.Name, "/") && !isGenerated(schema.GroupKind{Group: gv.Group, Kind: resource.Kind}) {
				n.kinds = append(n.kinds, namespaceKind{GroupVersionResource: gv.WithResource(resource.Name), kind: resource.Kind})
			}
		}
	}
	// Built-in kinds come first. The order is fixed, so that the message is the same each time.
	slices.SortFunc(n.kinds, func(a, b namespaceKind) int {
		return cmp.Or(lists.TrueFirst(kinds.IsBuiltIn(a.groupKind()), kinds.IsBuiltIn(b.groupKind())),
			cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource))
	})
}

// isGenerated reports whether Kubernetes itself creates and recreates the objects of a kind.
func isGenerated(kind schema.GroupKind) bool {
	switch kind {
	case schema.GroupKind{Kind: "Event"}, schema.GroupKind{Group: "events.k8s.io", Kind: "Event"},
		schema.GroupKind{Kind: "Endpoints"}, schema.GroupKind{Group: "discovery.k8s.io", Kind: "EndpointSlice"},
		schema.GroupKind{Group: "coordination.k8s.io", Kind: "Lease"}:
		return true
	}
	// Metrics APIs: metrics.k8s.io, custom.metrics.k8s.io, external.metrics.k8s.io.
	return kind.Group == "metrics.k8s.io" || strings.HasSuffix(kind.Group, ".metrics.k8s.io")
}

// isInEveryNamespace reports whether an object is created in every namespace.
func isInEveryNamespace(kind schema.GroupKind, name string) bool {
	switch kind {
	case schema.GroupKind{Kind: "ServiceAccount"}:
		return name == "default"
	case schema.GroupKind{Kind: "ConfigMap"}:
		// The second one belongs to Istio, which many clusters have.
		return name == "kube-root-ca.crt" || name == "istio-ca-root-cert"
	}
	return false
}

// namespaceUsage finds objects of others in one namespace.
type namespaceUsage struct {
	remover   *Remover
	namespace string
	// deleting records, by the uid of an owner, whether its dependents are being deleted.
	deleting map[types.UID]bool
}

// find returns an object of a kind that somebody else has in the namespace, or why that is unknown.
func (u *namespaceUsage) find(ctx context.Context, kind namespaceKind) (string, error) {
	gk := kind.groupKind()
	options := metav1.ListOptions{}
	if gk == (schema.GroupKind{Kind: "Secret"}) {
		// Tokens are deleted with their accounts, which are counted themselves.
		options.FieldSelector = "type!=kubernetes.io/service-account-token"
	}
	found := ""
	var ownersErr error // kept apart from errors of the LIST, because some of those are resolved by another request
	err := objects.Pages(options, func(options metav1.ListOptions) (string, error) {
		page, why, err := u.list(ctx, kind, options)
		if err != nil || why != "" {
			found = why
			return "", err
		}
		for i := range page.Items {
			item := &page.Items[i]
			if isInEveryNamespace(gk, item.Name) {
				continue
			}
			deleting, err := u.isBeingDeleted(ctx, item, 0)
			if err != nil {
				ownersErr = err
				return "", nil //nolint:nilerr // returned below
			}
			if !deleting {
				found = "in use by " + objects.Describe(kind.kind, types.NamespacedName{Namespace: item.Namespace, Name: item.Name})
				return "", nil
			}
		}
		return page.Continue, nil
	})
	return found, errors.Join(ownersErr, err)
}

// list reads one page. If a kind cannot be listed, list returns why. It returns an error only if the next attempt may
// succeed.
func (u *namespaceUsage) list(ctx context.Context, kind namespaceKind, options metav1.ListOptions) (page *metav1.PartialObjectMetadataList, why string, err error) {
	limited, cancel := ctx, context.CancelFunc(func() {})
	builtIn := kinds.IsBuiltIn(kind.groupKind())
	if !builtIn {
		limited, cancel = context.WithTimeout(ctx, answerLimit)
	}
	defer cancel()
	page, err = u.remover.Cluster.Metadata.Resource(kind.GroupVersionResource).Namespace(u.namespace).List(limited, options)
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return page, "", nil
	case ctx.Err() != nil:
		return nil, "", err
	case apierrors.IsNotFound(err):
		// The kind's definition was deleted meanwhile.
		return &metav1.PartialObjectMetadataList{}, "", nil
	case limited.Err() != nil:
		return nil, "the API of " + kind.GroupResource().String() + " does not answer", nil
	case apierrors.IsUnauthorized(err), apierrors.IsTooManyRequests(err), !errors.As(err, &status):
		return nil, "", err
	case builtIn && !apierrors.IsForbidden(err):
		return nil, "", err
	}
	return nil, "its " + kind.GroupResource().String() + " cannot be listed", nil
}

// maxOwners bounds how far owners of owners are followed.
const maxOwners = 8

// isBeingDeleted reports whether an object is the module's own, is being deleted, or will be deleted by the garbage
// collector because all its owners are missing or being deleted.
func (u *namespaceUsage) isBeingDeleted(ctx context.Context, object *metav1.PartialObjectMetadata, depth int) (bool, error) {
	if !object.DeletionTimestamp.IsZero() || u.remover.Owner.Owns(object) {
		return true, nil
	}
	if len(object.OwnerReferences) == 0 || depth == maxOwners {
		return false, nil
	}
	for _, ref := range object.OwnerReferences {
		known, ok := u.deleting[ref.UID]
		if !ok {
			var err error
			if known, err = u.ownerGoes(ctx, object.Namespace, ref, depth); err != nil {
				return false, fmt.Errorf("read the owner of %s/%s: %w", object.Namespace, object.Name, err)
			}
			u.deleting[ref.UID] = known
		}
		if !known {
			return false, nil
		}
	}
	return true, nil
}

func (u *namespaceUsage) ownerGoes(ctx context.Context, namespace string, ref metav1.OwnerReference, depth int) (bool, error) {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return false, nil //nolint:nilerr // it is unknown whether this owner exists
	}
	resource, err := u.remover.resource(ctx, gv.WithKind(ref.Kind))
	if meta.IsNoMatchError(err) {
		return true, nil
	}
	if err != nil {
		return u.unsure(ctx, err)
	}
	client := u.remover.Cluster.Metadata.Resource(resource.GroupVersionResource)
	var live *metav1.PartialObjectMetadata
	if resource.Namespaced {
		live, err = client.Namespace(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	} else {
		live, err = client.Get(ctx, ref.Name, metav1.GetOptions{})
	}
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return u.unsure(ctx, err)
	case live.UID != ref.UID:
		return true, nil
	}
	return u.isBeingDeleted(ctx, live, depth+1)
}

// unsure treats an owner that the cluster refuses to return as an existing one.
func (u *namespaceUsage) unsure(ctx context.Context, err error) (bool, error) {
	var status apierrors.APIStatus
	if ctx.Err() != nil || !errors.As(err, &status) || apierrors.IsTooManyRequests(err) || apierrors.IsUnauthorized(err) {
		return false, err
	}
	return false, nil
}

// keepsNamespace reports whether a namespace stays because somebody else uses it, and records the use.
func (r *Remover) keepsNamespace(ctx context.Context, name string) (bool, error) {
	why, err := r.usedByOthers(ctx, name)
	if err != nil || why == "" {
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Kept = append(r.Kept, objects.Describe(kinds.Namespace, types.NamespacedName{Name: name})+": "+why)
	slices.Sort(r.Kept)
	r.Kept = slices.Compact(r.Kept)
	return true, nil
}
