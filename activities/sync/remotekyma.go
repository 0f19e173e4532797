package sync

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/remote"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// restoredLabels returns the labels of a remote Kyma that are restored after a change (docs/contract.md#the-remote-kyma).
func restoredLabels(kyma *v1beta2.Kyma) map[string]string {
	labels := map[string]string{
		shared.LabelWatchedBy: shared.WatchedByKyma,
		shared.LabelManagedBy: shared.ManagedByKyma,
	}
	for _, key := range []string{shared.LabelRuntimeID, shared.LabelGlobalAccountID, shared.LabelSubAccountID} {
		if value := kyma.Labels[key]; value != "" {
			labels[key] = value
		}
	}
	return labels
}

// remoteMarks returns our annotations of a remote Kyma.
func remoteMarks(kyma *v1beta2.Kyma) map[string]string {
	return map[string]string{desired.AnnotationSyncedFrom: desired.SyncedFrom(kyma)}
}

// newRemoteKyma returns the remote Kyma to create. If a remote Kyma was accepted before, the new one gets the last
// accepted state. Otherwise it gets the control plane's spec, and the modules only if they should be copied.
func newRemoteKyma(kyma *v1beta2.Kyma, s desired.Sync) *v1beta2.Kyma {
	created := &v1beta2.Kyma{
		ObjectMeta: metav1.ObjectMeta{
			Name: s.Name, Namespace: s.Namespace,
			Labels: restoredLabels(kyma), Annotations: remoteMarks(kyma),
		},
		Spec: v1beta2.KymaSpec{
			Channel:                kyma.Spec.EffectiveChannel(),
			SkipMaintenanceWindows: kyma.Spec.SkipMaintenanceWindows,
		},
	}
	switch {
	case desired.IsAccepted(kyma):
		created.Spec.Channel = kyma.Status.Remote.Channel
		created.Spec.Modules = kyma.Status.Remote.Modules
		if until := kyma.Status.Remote.DeferUpgradesUntil; until != "" {
			created.Annotations[shared.AnnotationDeferUpgradesUntil] = until
		}
	case s.CopyModules:
		created.Spec.Modules = kyma.Spec.Modules
	}
	return created
}

// ensureRemoteKyma reads the remote Kyma or creates it. If the existing one belongs to another Kyma, ensureRemoteKyma
// leaves it unchanged and returns an error. With fresh CRDs the remote Kyma cannot exist yet.
func (a *Activities) ensureRemoteKyma(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r *session, fresh bool) (*v1beta2.Kyma, error) {
	if fresh {
		created, err := r.createKyma(ctx, kyma, s, true)
		if !apierrors.IsAlreadyExists(err) {
			return created, err
		}
	}
	found := r.recognized
	if found == nil {
		var err error
		if found, err = r.readKyma(ctx, s); apierrors.IsNotFound(err) && !remote.KindMissing(err) {
			return r.createKyma(ctx, kyma, s, false)
		} else if err != nil {
			return nil, err
		}
	}
	if err := a.checkOwnership(ctx, kyma, found, r); err != nil {
		return nil, err
	}
	if !found.DeletionTimestamp.IsZero() {
		return found, nil
	}
	if !remote.HasLabels(found.Labels, restoredLabels(kyma)) || !remote.HasLabels(found.Annotations, remoteMarks(kyma)) {
		if err := r.Label(ctx, found, restoredLabels(kyma), remoteMarks(kyma)); err != nil {
			return nil, err
		}
	}
	if isArriving(kyma) {
		return found, r.overwrite(ctx, kyma, found)
	}
	return found, nil
}

func (r *session) readKyma(ctx context.Context, s desired.Sync) (*v1beta2.Kyma, error) {
	found := &v1beta2.Kyma{}
	if err := r.Get(ctx, types.NamespacedName{Namespace: s.Namespace, Name: s.Name}, found); err != nil {
		return nil, fmt.Errorf("read remote Kyma %s/%s: %w", s.Namespace, s.Name, err)
	}
	return found, nil
}

func (r *session) createKyma(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, fresh bool) (*v1beta2.Kyma, error) {
	created := newRemoteKyma(kyma, s)
	create := func() error { return r.Create(ctx, created, remote.FieldOwner()) }
	if fresh {
		create = func() error { return objects.CreateTyped(ctx, r, created, remote.FieldOwner()) }
	}
	err := remote.UntilServed(ctx, fresh, create)
	switch {
	case err == nil:
		r.Writes++
		return created, nil
	case apierrors.IsInvalid(err):
		return nil, fault.New(fault.Rejected, ReasonRemoteKymaInvalid, "create remote Kyma %s: %w", desired.NameOf(created), err)
	default:
		return nil, fmt.Errorf("create remote Kyma %s: %w", desired.NameOf(created), err)
	}
}

// checkNotOwned returns an error if another Kyma occupies the place of the remote Kyma. It only reads.
func (a *Activities) checkNotOwned(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r *session) error {
	found := remote.MetadataOf(remote.Kind(shared.KindKyma))
	place := types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
	err := r.Get(ctx, place, found)
	if apierrors.IsNotFound(err) || remote.KindMissing(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the owner of remote Kyma %s: %w", place, err)
	}
	return a.checkOwnership(ctx, kyma, found, r)
}

// checkOwnership returns an error unless an existing remote Kyma may be used for this Kyma. An unmarked remote Kyma is
// taken over, because it may be older than marks, or the cluster's owner may have created it in advance. In the control
// plane's own cluster, however, an unmarked Kyma is an original.
//
// The owner of a cluster can write any mark, so the control plane decides. A remote Kyma that this Kyma has accepted
// belongs to this Kyma, whatever its mark. It belongs to another Kyma only if that Kyma's status confirms it. Messages
// reveal nothing about other Kymas.
func (a *Activities) checkOwnership(ctx context.Context, kyma *v1beta2.Kyma, found client.Object, r *session) error {
	mark, marked := found.GetAnnotations()[desired.AnnotationSyncedFrom]
	if mark == desired.SyncedFrom(kyma) || !r.Own && r.hasAccepted(kyma, found) {
		return nil
	}
	if !marked {
		if r.Own {
			return fault.New(fault.Rejected, ReasonRemoteKymaOwned,
				"Kyma %s exists in the control plane itself, and is not a copy of %s", desired.NameOf(found), desired.NameOf(kyma))
		}
		return nil
	}
	belongs, err := a.belongsToAnother(ctx, found, mark, r)
	if err != nil || !belongs {
		return err // the marked Kyma is gone or does not have it: the cluster got a new Kyma
	}
	return fault.New(fault.Rejected, ReasonRemoteKymaOwned, "remote Kyma %s belongs to another Kyma; two Kymas cannot share it", desired.NameOf(found))
}

// belongsToAnother reports whether the Kyma in a remote Kyma's mark exists and its status confirms the mark.
func (a *Activities) belongsToAnother(ctx context.Context, found client.Object, mark string, r *session) (bool, error) {
	key, ok := remote.KymaOfMark(mark)
	if !ok {
		return false, nil // not written by us
	}
	other := &v1beta2.Kyma{}
	err := a.ControlPlane.Get(ctx, key, other)
	if err != nil {
		return false, client.IgnoreNotFound(fmt.Errorf("read the Kyma that the mark of remote Kyma %s names: %w", desired.NameOf(found), err))
	}
	recorded := other.Status.Remote
	return recorded != nil && (recorded.UID == "" || recorded.UID == string(found.GetUID())) &&
		(recorded.Cluster == "" || recorded.Cluster == string(r.UID)), nil
}

// hasAccepted reports whether the Kyma was last synchronized with this remote Kyma in this cluster.
func (r *session) hasAccepted(kyma *v1beta2.Kyma, found client.Object) bool {
	recorded := kyma.Status.Remote
	return recorded != nil && recorded.UID != "" && recorded.UID == string(found.GetUID()) && recorded.Cluster == string(r.UID)
}

// deleteRemoteKyma deletes the remote Kyma if it belongs to this Kyma. If finalizers of others hold it, the error says
// so. A remote Kyma with another mark or none belongs to this Kyma if it has the accepted uid.
func (a *Activities) deleteRemoteKyma(ctx context.Context, kyma *v1beta2.Kyma, place types.NamespacedName, uid string, r *session) error {
	found := remote.MetadataOf(remote.Kind(shared.KindKyma))
	err := r.Get(ctx, place, found)
	if apierrors.IsNotFound(err) || remote.KindMissing(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read remote Kyma %s: %w", place, err)
	}
	mark, marked := found.Annotations[desired.AnnotationSyncedFrom]
	switch {
	case marked && mark == desired.SyncedFrom(kyma):
	case r.Own, uid == "", uid != string(found.UID):
		return nil
	case marked:
		if belongs, err := a.belongsToAnother(ctx, found, mark, r); err != nil || belongs {
			return err
		}
	}
	if r.force != nil {
		if found.DeletionTimestamp.IsZero() {
			if err := r.DeleteObject(ctx, found); err != nil {
				return err
			}
		}
		return r.forceRemoteKyma(ctx, client.ObjectKeyFromObject(found), found.UID)
	}
	others, err := r.releaseRemoteKyma(ctx, found)
	if err != nil {
		return err
	}
	if found.DeletionTimestamp.IsZero() {
		if err := r.DeleteObject(ctx, found); err != nil {
			return err
		}
	}
	if len(others) > 0 {
		return fault.New(fault.Transient, ReasonRemoteKymaDeleting, "remote Kyma %s: %s", desired.NameOf(found),
			shared.OtherFinalizersPresent(others))
	}
	return nil
}

// notOntoItself returns an error if a Kyma's copy would be the Kyma itself.
func notOntoItself(kyma *v1beta2.Kyma, name, namespace string, own bool) error {
	if !own || name != kyma.Name || namespace != kyma.Namespace {
		return nil
	}
	return fault.New(fault.Rejected, ReasonOntoItself,
		"Kyma %s cannot be synchronized onto itself: its access leads to the control plane's own cluster, "+
			"so spec.sync.namespace must be another namespace", desired.NameOf(kyma))
}

// isArriving reports whether a move has begun and the remote Kyma was not yet accepted in its new place. Before that, an
// object in the new place is overwritten with the last accepted state.
func isArriving(kyma *v1beta2.Kyma) bool {
	place := kyma.Status.Remote
	return place != nil && place.MovingFrom != nil && place.MovingFrom.UID == place.UID
}

// overwrite writes the last accepted state into a Kyma that already exists in the new place.
func (r *session) overwrite(ctx context.Context, kyma, found *v1beta2.Kyma) error {
	accepted := kyma.Status.Remote
	if found.Spec.EffectiveChannel() == accepted.Channel && equality.Semantic.DeepEqual(found.Spec.Modules, accepted.Modules) {
		return nil
	}
	found.Spec.Channel, found.Spec.Modules = accepted.Channel, accepted.DeepCopy().Modules
	if err := r.Update(ctx, found, remote.FieldOwner()); err != nil {
		return fmt.Errorf("write the last accepted state into remote Kyma %s: %w", desired.NameOf(found), err)
	}
	r.Writes++
	return nil
}
