package removal

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
)

// keeps reports whether an object must stay because of its dependents: a definition with objects while the module
// stays, or a namespace that others use.
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

// keepsDefinition reports whether a definition, named <plural>.<group>, has objects that would be deleted with it and
// must not be. One of them may carry Helm's annotation to keep it.
//
// keepsDefinition lists the kind even if the result does not matter. The API server begins to serve a kind with the
// first request for it. If that is the API server's own request for the definition's deletion, it fails, and may be
// retried only minutes later.
func (r *Remover) keepsDefinition(ctx context.Context, name string) (bool, error) {
	gvk, err := objects.KindDefinedBy(ctx, r.Cluster, name)
	if err != nil {
		return false, kinds.IgnoreNoMatch(err)
	}
	some, kept := false, false
	err = objects.Pages(metav1.ListOptions{}, func(options metav1.ListOptions) (string, error) {
		page, err := r.Cluster.Metadata.Resource(gvk.GroupVersion().WithResource(kinds.ResourceOfDefinition(name).Resource)).List(ctx, options)
		if err != nil {
			return "", err
		}
		some = some || len(page.Items) > 0
		kept = kept || slices.ContainsFunc(page.Items, func(cr metav1.PartialObjectMetadata) bool { return inventory.IsKept(&cr) })
		if kept || some && r.KeepUserData {
			return "", nil
		}
		return page.Continue, nil
	})
	switch {
	case err == nil && kept && !r.KeepUserData:
		return true, r.letStay(ctx, kinds.DefinitionKind().WithVersion("v1"), types.NamespacedName{Name: name}, r.Owner.Owns)
	case err == nil:
		return r.KeepUserData && some, nil
	case r.KeepUserData || apierrors.IsTooManyRequests(err):
		return false, objects.IgnoreUnserved(err)
	}
	// The objects of the kind cannot be read, for example because the module's conversion webhook was already deleted.
	// They are deleted as well.
	return false, nil
}
