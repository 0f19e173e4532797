package resolve

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// EventSpecRestored: somebody had edited the spec of a Manifest, and it is as planned again.
const EventSpecRestored = "SpecRestored"

// target is the decision about where a Manifest goes. A module for the control plane's own cluster is installed only
// where that is recorded in the Manifest's status, for the very spec that was planned: a spec alone is what anybody may
// have written who may write Manifests.
type target struct {
	// record is nil for the remote cluster.
	record *v1beta2.TargetRecord
}

// targetOf is the target of a Manifest as it is planned.
func targetOf(planned *v1beta2.Manifest) *target {
	cluster := desired.WantsControlPlane(planned)
	if cluster == "" {
		return &target{}
	}
	return &target{record: &v1beta2.TargetRecord{Cluster: cluster, SpecDigest: desired.SpecDigest(planned.Spec)}}
}

// differs tells whether a Manifest's status says otherwise where it goes.
func (t *target) differs(manifest *v1beta2.Manifest) bool {
	return t != nil && !equality.Semantic.DeepEqual(manifest.Status.Target, t.record)
}

// write records where a Manifest goes into its status, where that does not say so. It needs no resource version: what
// it says is about one spec, whichever the Manifest has by now.
func (t *target) write(ctx context.Context, c client.Client, manifest *v1beta2.Manifest) error {
	if !t.differs(manifest) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": manifest.UID}, "status": map[string]any{"target": t.record},
	})
	if err != nil {
		return fmt.Errorf("encode the target of %s: %w", describe(manifest), err)
	}
	now := &v1beta2.Manifest{}
	now.Name, now.Namespace = manifest.Name, manifest.Namespace
	err = c.Status().Patch(ctx, now, client.RawPatch(mergePatch, patch), client.FieldOwner(shared.FieldManagerLifecycleManager))
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("record the target of %s: %w", describe(manifest), err)
	}
	return nil
}

// tellRestored tells of a spec that somebody had edited, and that was put back.
func (a *Activities) tellRestored(edited *v1beta2.Manifest) {
	if a.events == nil || !desired.IsEdited(edited) {
		return
	}
	a.events.Event(edited, corev1.EventTypeWarning, EventSpecRestored,
		"the spec was edited by hand and is put back: what a module is follows from its Kyma, its ModuleTemplate and its ModuleReleaseMeta")
}
