package apply

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/adoption"
	"github.com/kyma-project/lifecycle-manager/activities/bundle"
	"github.com/kyma-project/lifecycle-manager/activities/manifests"
	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// takeFields moves the ownership of the fields of an object that upstream installed, before we apply it for the first
// time.
func takeFields(ctx context.Context, job *Installation, p bundle.Placed, body []byte) error {
	live := job.Repair.Adopted(p)
	if live == nil {
		return nil
	}
	api := job.Cluster.Metadata.Resource(p.Resource.GroupVersionResource).Namespace(p.Name.Namespace)
	stale := false
	return manifests.RetryOnConflict(func() error {
		if stale {
			now, err := api.Get(ctx, p.Name.Name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("read %s: %w", p, err)
			}
			live = now
		}
		stale = true
		patch, err := adoption.FieldsPatch(live, body)
		if err != nil || patch == nil {
			return err
		}
		_, err = api.Patch(ctx, p.Name.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: shared.FieldManagerLifecycleManager})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}
