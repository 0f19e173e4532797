package removal

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/kinds"
	"github.com/kyma-project/lifecycle-manager/activities/objects"
)

// keeps tells whether an object must stay because of what depends on it: a definition with objects, while the module
// stays; a namespace that others use.
func (r *Remover) keeps(ctx context.Context, gvk schema.GroupVersionKind, name types.NamespacedName) (bool, error) {
	switch gvk.GroupKind() {
	case kinds.DefinitionKind():
		return r.keepsDefinition(ctx, name.Name)
	case schema.GroupKind{Kind: kinds.Namespace}:
		if r.KeepUserData {
			return true, nil
		}
		if usesNamespace(r.OtherModules, name.Name) {
			return true, nil
		}
		return r.keepsNamespace(ctx, name.Name)
	}
	return false, nil
}

// keepsDefinition tells whether a definition, named <plural>.<group>, has objects that would be deleted with it and
// must not.
//
// The kind is listed even where the answer does not matter: the API server begins to serve a kind with the first
// request for it, and when that is its own request, for the definition's deletion, it fails, and may be retried only
// minutes later.
func (r *Remover) keepsDefinition(ctx context.Context, name string) (bool, error) {
	gvk, err := objects.KindDefinedBy(ctx, r.Cluster, name)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	found, err := r.Cluster.Metadata.Resource(gvk.GroupVersion().WithResource(kinds.ResourceOfDefinition(name).Resource)).List(ctx, metav1.ListOptions{Limit: 1})
	switch {
	case err == nil:
		return r.KeepUserData && len(found.Items) > 0, nil
	case r.KeepUserData || apierrors.IsTooManyRequests(err):
		return false, objects.IgnoreUnserved(err)
	}
	// Its objects cannot be read, as when the module's conversion webhook was deleted before. They are deleted as well.
	return false, nil
}
