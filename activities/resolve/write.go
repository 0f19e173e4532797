package resolve

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/planning"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

const mergePatch = types.MergePatchType

// applied is a Manifest as it is sent in a server-side apply: without status and without what the server fills.
func applied(manifest *v1beta2.Manifest) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(manifest)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{Object: content}
	unstructured.RemoveNestedField(object.Object, "status")
	unstructured.RemoveNestedField(object.Object, "metadata", "creationTimestamp")
	return object, nil
}

// deleteManifest deletes this very Manifest. One that is gone already is as wanted.
func deleteManifest(ctx context.Context, c client.Client, manifest *v1beta2.Manifest) error {
	err := c.Delete(ctx, manifest, client.Preconditions{UID: &manifest.UID})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete %s: %w", planning.Describe(manifest), err)
	}
	return nil
}

// held counts a Kyma in the removal budget if deleting these Manifests removes a module from its cluster. The fault says why
// that must wait.
func (a *Activities) held(ctx context.Context, kyma *v1beta2.Kyma, due []*v1beta2.Manifest) (fault.Fault, error) {
	if a.Budget == nil || !slices.ContainsFunc(due, removesModule) {
		return fault.Fault{}, nil
	}
	return a.Budget.Take(ctx, kyma)
}

// removesModule reports whether deleting a Manifest begins the removal of a module: an agent is none, what is unmanaged stays
// in the cluster, and what is being deleted has begun.
func removesModule(m *v1beta2.Manifest) bool {
	return m.DeletionTimestamp.IsZero() && !m.IsUnmanaged() && !desired.IsAgent(m)
}

// sameRemote tells whether two readings of a Kyma know of the same wishes of its remote side.
func sameRemote(a, b *v1beta2.Kyma) bool {
	if a.Status.Remote == nil || b.Status.Remote == nil {
		return a.Status.Remote == b.Status.Remote
	}
	return a.Status.Remote.Channel == b.Status.Remote.Channel &&
		equality.Semantic.DeepEqual(a.Status.Remote.Modules, b.Status.Remote.Modules)
}

// recordTarget records where a Manifest goes into its status, where that does not say so. It needs no resource version: what
// it says is about one spec, whichever the Manifest has by now.
func (a *Activities) recordTarget(ctx context.Context, t *planning.Destination, manifest *v1beta2.Manifest) error {
	if !t.Differs(manifest) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": manifest.UID}, "status": map[string]any{"target": t.Record},
	})
	if err != nil {
		return fmt.Errorf("encode the target of %s: %w", planning.Describe(manifest), err)
	}
	now := &v1beta2.Manifest{}
	now.Name, now.Namespace = manifest.Name, manifest.Namespace
	err = a.ControlPlane.Status().Patch(ctx, now, client.RawPatch(mergePatch, patch), client.FieldOwner(shared.FieldManagerLifecycleManager))
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("record the target of %s: %w", planning.Describe(manifest), err)
	}
	return nil
}
