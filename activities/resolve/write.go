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

// applied returns the content of a Manifest's server-side apply: without the status and without fields that the server
// fills.
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

// deleteManifest deletes exactly this Manifest, by uid. If it is already gone, that is a success.
func deleteManifest(ctx context.Context, c client.Client, manifest *v1beta2.Manifest) error {
	err := c.Delete(ctx, manifest, client.Preconditions{UID: &manifest.UID})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete %s: %w", planning.Describe(manifest), err)
	}
	return nil
}

// held counts a Kyma in the removal budget if deleting these Manifests removes a module from its cluster. It returns a
// fault if the deletion must wait.
func (a *Activities) held(ctx context.Context, kyma *v1beta2.Kyma, due []*v1beta2.Manifest) (fault.Fault, error) {
	if a.Budget == nil || !slices.ContainsFunc(due, removesModule) {
		return fault.Fault{}, nil
	}
	return a.Budget.Take(ctx, kyma)
}

// removesModule reports whether deleting a Manifest begins the removal of a module. It does not for an agent, for an
// unmanaged module, which stays in the cluster, and for a Manifest already under deletion.
func removesModule(m *v1beta2.Manifest) bool {
	return m.DeletionTimestamp.IsZero() && !m.IsUnmanaged() && !desired.IsAgent(m)
}

// sameRemote reports whether two versions of a Kyma record the same channel and modules of its remote Kyma.
func sameRemote(a, b *v1beta2.Kyma) bool {
	if a.Status.Remote == nil || b.Status.Remote == nil {
		return a.Status.Remote == b.Status.Remote
	}
	return a.Status.Remote.Channel == b.Status.Remote.Channel &&
		equality.Semantic.DeepEqual(a.Status.Remote.Modules, b.Status.Remote.Modules)
}

// recordTarget records a Manifest's target in its status, if the status does not say so. It needs no resourceVersion,
// because the record is valid for one spec, whichever spec the Manifest has by then.
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
