package resolve

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
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
		return fmt.Errorf("delete %s: %w", describe(manifest), err)
	}
	return nil
}

// sameRemote tells whether two readings of a Kyma know of the same wishes of its remote side.
func sameRemote(a, b *v1beta2.Kyma) bool {
	if a.Status.Remote == nil || b.Status.Remote == nil {
		return a.Status.Remote == b.Status.Remote
	}
	return a.Status.Remote.Channel == b.Status.Remote.Channel &&
		equality.Semantic.DeepEqual(a.Status.Remote.Modules, b.Status.Remote.Modules)
}

// DeleteManifests deletes every Manifest of a Kyma under deletion, also those of mandatory modules, those
// that are to be left alone otherwise, and those that another instance made, and says which are left and when their
// removal is to be forced. One that cannot be deleted keeps no other from it: that is told in DeleteResult.Fault.
func (a *Activities) DeleteManifests(ctx context.Context, in Input) (DeleteResult, error) {
	result, err := a.deleteAll(ctx, in)
	return result, fault.ToTemporal(err)
}

func (a *Activities) deleteAll(ctx context.Context, in Input) (DeleteResult, error) {
	kyma, outcome, err := a.look(ctx, in.Ref)
	if err != nil || outcome != OutcomeDeleting {
		return DeleteResult{Outcome: outcome}, err
	}
	own, _, err := ManifestsOf(ctx, a.controlPlane, kyma)
	if err != nil {
		return DeleteResult{}, err
	}
	result := DeleteResult{Outcome: OutcomeDeleting, OrderlyFor: a.settings.Purge.Orderly}
	result.PurgeAt, _ = desired.PurgeTime(kyma, a.settings.Purge)
	result.PurgeDue = !result.PurgeAt.IsZero() && !a.now().Before(result.PurgeAt)
	var failed []error
	for i := range own {
		manifest := &own[i]
		var refused error
		if manifest.DeletionTimestamp.IsZero() {
			refused = deleteManifest(ctx, a.controlPlane, manifest)
			failed = append(failed, refused)
		}
		// Deleted and gone at once is only what has no finalizer.
		if refused != nil || len(manifest.Finalizers) > 0 {
			result.Left = append(result.Left, manifest.Name)
			result.Manifests = append(result.Manifests, kick.RefOf(manifest))
		}
	}
	result.Fault = notDeleted(failed)
	return result, nil
}

// ReasonManifestsNotDeleted: the control plane refuses to delete Manifests of a Kyma under deletion.
const ReasonManifestsNotDeleted = "ManifestsNotDeleted"

// notDeleted is the fault of deletions that failed, whatever it was: trying again may help with each of them.
func notDeleted(failed []error) fault.Fault {
	err := errors.Join(failed...)
	if err == nil {
		return fault.Fault{}
	}
	return fault.Fault{Kind: fault.Transient, Reason: ReasonManifestsNotDeleted, Message: err.Error()}
}
