package sync

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/purge"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/kymas"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/remote"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// forceRemoteKyma removes the finalizers of the remote Kyma under deletion. If a protected finalizer holds the remote
// Kyma, it stays, and the error says so.
func (r *session) forceRemoteKyma(ctx context.Context, key types.NamespacedName, uid types.UID) error {
	found := remote.MetadataOf(remote.Kind(shared.KindKyma))
	err := r.Get(ctx, key, found)
	if apierrors.IsNotFound(err) || err == nil && found.UID != uid {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read remote Kyma %s: %w", key, err)
	}
	others, err := r.releaseRemoteKyma(ctx, found)
	if err != nil || len(others) == 0 {
		return err
	}
	off, stay := r.force.rules.Split(others)
	if len(off) > 0 {
		object := purge.Object{
			Kind: shared.KindKyma, Namespace: key.Namespace, Name: key.Name, UID: uid, Finalizers: off, In: "the remote cluster",
		}
		if err := r.force.purges.RecordIntent(ctx, r.force.kyma, object); err != nil {
			return err
		}
		before := found.DeepCopy()
		found.Finalizers = stay
		err := r.Patch(ctx, found, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), remote.FieldOwner())
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("remove the finalizers of remote Kyma %s: %w", key, err)
		}
		r.Writes++
		r.force.purges.Done(r.force.kyma, object)
		r.force.forced = append(r.force.forced, object.String())
	}
	if held := r.force.rules.Protected(stay); len(held) > 0 {
		return fault.New(fault.Transient, ReasonRemoteKymaDeleting, "remote Kyma %s: %s", key, shared.OtherFinalizersPresent(held))
	}
	return nil
}

// releaseRemoteKyma removes our own finalizers from a remote Kyma, which earlier generations set, and returns the
// finalizers of others.
func (r *session) releaseRemoteKyma(ctx context.Context, found *metav1.PartialObjectMetadata) ([]string, error) {
	others := kymas.OtherFinalizers(found)
	if len(others) == len(found.Finalizers) {
		return others, nil
	}
	before := found.DeepCopy()
	found.Finalizers = others
	err := r.Patch(ctx, found, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), remote.FieldOwner())
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("release remote Kyma %s: %w", desired.NameOf(found), err)
	}
	r.Writes++
	return others, nil
}
