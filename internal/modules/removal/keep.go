package removal

import (
	"context"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
)

// Charts mark objects that hold data with Helm's annotation, and rely on these objects to outlive the chart. We read
// the annotation from the live object. It is there because the module's last version applied it, or because the
// cluster's owner set it by hand and wants the same. So the installed version decides whether an object is kept,
// whatever the next version says.

// keepsOwn is inventory.IsKept for an object that a module installed. The annotation does not count for the agent,
// which is no module and is removed with its cluster.
func (r *Remover) keepsOwn(live metav1.Object) bool {
	return inventory.IsKept(live) && (r.Manifest == nil || !desired.IsAgent(r.Manifest))
}

// letStay leaves an object in the cluster permanently, without the marks of a module. So nobody takes it for a
// leftover, and a later installation takes it over like any other existing object.
func (r *Remover) letStay(ctx context.Context, gvk schema.GroupVersionKind, name types.NamespacedName, ours func(metav1.Object) bool) error {
	if err := r.unmark(ctx, gvk, name, ours); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	described := objects.Describe(gvk.Kind, name)
	if at, known := slices.BinarySearch(r.KeptByPolicy, described); !known {
		r.KeptByPolicy = slices.Insert(r.KeptByPolicy, at, described)
	}
	return nil
}

// definitionStays reports whether the definition of a kind carries Helm's annotation. Its custom resources then stay
// too.
func (r *Remover) definitionStays(ctx context.Context, resource schema.GroupVersionResource) (bool, error) {
	if resource.Group == "" || !strings.Contains(resource.Group, ".") {
		return false, nil
	}
	definitions, err := r.Mapper.Served(ctx, kinds.DefinitionKind().WithVersion(""))
	if err != nil {
		return false, err
	}
	live, err := r.Cluster.Metadata.Resource(definitions.GroupVersionResource).Get(ctx, resource.Resource+"."+resource.Group, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil && inventory.IsKept(live), err
}
