package installations

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// ReleaseFormer deletes the Manifest that an earlier build made for the agent of a Kyma, if the known ones have it. Nothing is
// removed from the remote cluster: the RemoteAgent has the agent from then on, whose objects carry the same mark. It may be
// repeated.
func ReleaseFormer(ctx context.Context, known client.Reader, c client.Client, kyma client.Object) error {
	if r, is := known.(reader); is {
		known = r.Reader
	}
	if w, is := known.(*writer); is {
		known = w.Client
	}
	if w, is := c.(*writer); is {
		c = w.Client
	}
	key := client.ObjectKey{Namespace: kyma.GetNamespace(), Name: shared.RemoteAgentName(kyma.GetName())}
	var former v1beta2.Manifest
	if err := known.Get(ctx, key, &former); err != nil {
		return ignoreGone("read", key, err)
	}
	// Without its finalizers it is gone at once, so that no workflow of its own ever sees that it is being deleted.
	off, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": former.UID, "resourceVersion": former.ResourceVersion, "finalizers": nil,
	}})
	if err != nil {
		return fmt.Errorf("encode the patch of Manifest %s: %w", key, err)
	}
	if err := c.Patch(ctx, &former, client.RawPatch(types.MergePatchType, off), client.FieldOwner(shared.FieldManagerLifecycleManager)); err != nil {
		return ignoreGone("release", key, err)
	}
	return ignoreGone("delete", key, c.Delete(ctx, &former, client.Preconditions{UID: &former.UID, ResourceVersion: &former.ResourceVersion}))
}

func ignoreGone(what string, key client.ObjectKey, err error) error {
	if client.IgnoreNotFound(err) == nil {
		return nil
	}
	return fmt.Errorf("%s Manifest %s of an agent: %w", what, key, err)
}
