package installations

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// isFormer reports whether a build before RemoteAgents created a Manifest for an agent. The name tells, because no
// module's Manifest has such a name. If the name was cut because the Kyma's name is long, the annotation tells. The
// annotation alone does not count: otherwise anyone who may annotate a module's Manifest could make us forget its
// inventory.
func isFormer(m *v1beta2.Manifest) bool {
	if shared.IsRemoteAgentName(m.Name) {
		return true
	}
	_, annotated := m.Annotations[desired.AnnotationAgent]
	return annotated && m.Name == shared.ManifestName(m.KymaName(), shared.AgentComponent, shared.AgentName)
}

// ReleaseFormers deletes the Manifests that builds before RemoteAgents created for agents, as far as known lists them
// and chosen selects them. It removes nothing from remote clusters: from then on a RemoteAgent owns the agent, because
// its objects carry the same ownership annotation. ReleaseFormers is safe to repeat, and tries all Manifests before it
// returns an error.
func ReleaseFormers(ctx context.Context, known client.Reader, c client.Client, chosen func(*v1beta2.Manifest) bool) error {
	switch wrapped := known.(type) {
	case reader:
		known = wrapped.Reader
	case *writer:
		known = wrapped.Client
	}
	if wrapped, ok := c.(*writer); ok {
		c = wrapped.Client
	}
	var all v1beta2.ManifestList
	if err := known.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list Manifests: %w", err)
	}
	var failed []error
	for i := range all.Items {
		if m := &all.Items[i]; isFormer(m) && chosen(m) {
			failed = append(failed, releaseFormer(ctx, c, m.DeepCopy()))
		}
	}
	return errors.Join(failed...)
}

func releaseFormer(ctx context.Context, c client.Client, m *v1beta2.Manifest) error {
	// Without finalizers the Manifest disappears at once, so no workflow ever sees it being deleted.
	off, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": m.UID, "resourceVersion": m.ResourceVersion, "finalizers": nil,
	}})
	if err == nil {
		err = c.Patch(ctx, m, client.RawPatch(types.MergePatchType, off), client.FieldOwner(shared.FieldManagerLifecycleManager))
	}
	if err == nil {
		err = c.Delete(ctx, m, client.Preconditions{UID: &m.UID, ResourceVersion: &m.ResourceVersion})
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete Manifest %s/%s of an agent: %w", m.Namespace, m.Name, err)
	}
	return nil
}
