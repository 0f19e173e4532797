package install

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// keeps tells whether an object must stay because of what stands on it: a definition with objects, while
// the module stays; a namespace in which others work.
func (r *remover) keeps(ctx context.Context, gvk schema.GroupVersionKind, name types.NamespacedName) (bool, error) {
	switch gvk.GroupKind() {
	case schema.GroupKind{Group: groupExtensions, Kind: kindDefinition}:
		return r.keepsDefinition(ctx, name.Name)
	case schema.GroupKind{Kind: kindNamespace}:
		if r.keepUserData {
			return true, nil
		}
		if lives(r.siblings, name.Name) {
			return true, nil
		}
		return r.keepsNamespace(ctx, name.Name)
	}
	return false, nil
}

// keepsDefinition tells whether a definition, named <plural>.<group>, has objects that would go with it and must not.
//
// The kind is listed also where it does not matter what the answer is: the API server begins to serve a kind with
// the first request for it, and when that one is its own, for the definition's deletion, then it fails, and may be
// tried again only minutes later.
func (r *remover) keepsDefinition(ctx context.Context, name string) (bool, error) {
	gvk, err := kindDefinedBy(ctx, r.cluster, name)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	found, err := r.cluster.Metadata.Resource(gvk.GroupVersion().WithResource(definedBy(name).Resource)).List(ctx, metav1.ListOptions{Limit: 1})
	switch {
	case err == nil:
		return r.keepUserData && len(found.Items) > 0, nil
	case r.keepUserData || apierrors.IsTooManyRequests(err):
		return false, ignoreUnserved(err)
	}
	// Its objects cannot be read, as when the module's conversion webhook has gone before. They go as well.
	return false, nil
}

// madeByUs tells whether a default custom resource of which no uid was recorded is the one that we made
// before we could record it.
func madeByUs(live metav1.Object) bool {
	return live.GetLabels()[shared.LabelWatchedBy] == shared.WatchedByKyma &&
		live.GetLabels()[shared.LabelManagedBy] == shared.ManagedByKyma
}
