package sync

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// restoredLabels are the labels of a remote Kyma that are restored when changed (docs/contract.md#the-remote-kyma).
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

// remoteMarks are the annotations of a remote Kyma that are ours.
func remoteMarks(kyma *v1beta2.Kyma) map[string]string {
	return map[string]string{desired.AnnotationSyncedFrom: desired.SyncedFrom(kyma)}
}

// newRemoteKyma is the remote Kyma as it is created: with what was last accepted from it, where it was there
// before; else from the control plane's spec, with the modules only where they are to be copied.
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
	case desired.TakenIn(kyma):
		created.Spec.Channel = kyma.Status.Remote.Channel
		created.Spec.Modules = kyma.Status.Remote.Modules
	case s.CopyModules:
		created.Spec.Modules = kyma.Spec.Modules
	}
	return created
}

// ensureRemoteKyma reads the remote Kyma, or creates it. What it finds that belongs to another Kyma is left
// alone and refused. With fresh definitions the Kyma cannot be there yet.
func (a *Activities) ensureRemoteKyma(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r *remote, fresh bool) (*v1beta2.Kyma, error) {
	if fresh {
		created, err := r.createKyma(ctx, kyma, s, true)
		if !apierrors.IsAlreadyExists(err) {
			return created, err
		}
	}
	found := r.recognized
	if found == nil {
		var err error
		if found, err = r.readKyma(ctx, s); apierrors.IsNotFound(err) && !kindMissing(err) {
			return r.createKyma(ctx, kyma, s, false)
		} else if err != nil {
			return nil, err
		}
	}
	if err := a.checkClaim(ctx, kyma, found, r); err != nil {
		return nil, err
	}
	if !found.DeletionTimestamp.IsZero() {
		return found, nil
	}
	if !hasLabels(found.Labels, restoredLabels(kyma)) || !hasLabels(found.Annotations, remoteMarks(kyma)) {
		if err := r.label(ctx, found, restoredLabels(kyma), remoteMarks(kyma)); err != nil {
			return nil, err
		}
	}
	if arrives(kyma) {
		return found, r.overwrite(ctx, kyma, found)
	}
	return found, nil
}

func (r *remote) readKyma(ctx context.Context, s desired.Sync) (*v1beta2.Kyma, error) {
	found := &v1beta2.Kyma{}
	if err := r.Get(ctx, types.NamespacedName{Namespace: s.Namespace, Name: s.Name}, found); err != nil {
		return nil, fmt.Errorf("read remote Kyma %s/%s: %w", s.Namespace, s.Name, err)
	}
	return found, nil
}

// servedWithin is how long a definition that was just created may take until it is served.
const servedWithin = 10 * time.Second

func (r *remote) createKyma(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, fresh bool) (*v1beta2.Kyma, error) {
	created := newRemoteKyma(kyma, s)
	err := untilServed(ctx, fresh, func() error { return r.Create(ctx, created, remoteOwner()) })
	switch {
	case err == nil:
		r.writes++
		return created, nil
	case apierrors.IsInvalid(err):
		return nil, fault.New(fault.Rejected, ReasonRemoteKymaInvalid, "create remote Kyma %s: %w", nameOf(created), err)
	default:
		return nil, fmt.Errorf("create remote Kyma %s: %w", nameOf(created), err)
	}
}

// untilServed repeats a request while the cluster says that it does not serve the kind. A kind whose definition is
// fresh is not asked for at once, which would be in vain.
func untilServed(ctx context.Context, fresh bool, request func() error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 250*time.Millisecond, servedWithin, !fresh, func(context.Context) (bool, error) {
		last = request()
		return !kindMissing(last), nil
	})
	if err != nil && last == nil {
		return err
	}
	return last
}

// checkUnclaimed makes sure, by a read alone, that no Kyma is in the way where the remote Kyma is to be.
func (a *Activities) checkUnclaimed(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r *remote) error {
	found := metadataOf(ourKind(shared.KindKyma))
	place := types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
	err := r.Get(ctx, place, found)
	if apierrors.IsNotFound(err) || kindMissing(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look whose remote Kyma %s is: %w", place, err)
	}
	return a.checkClaim(ctx, kyma, found, r)
}

// checkClaim makes sure that a remote Kyma that is there is this Kyma's to work with. One without a mark is
// taken over, for it may be of the time before marks, or made by the cluster's owner in advance; but in the
// control plane's own cluster one without a mark is an original.
//
// Whoever owns the cluster can write any mark. So it is the control plane that says whose it is: what this Kyma has
// taken in is its own whatever it is marked with, and it is another's only where that one's status says so too. What
// is found out about other Kymas is in no message.
func (a *Activities) checkClaim(ctx context.Context, kyma *v1beta2.Kyma, found client.Object, r *remote) error {
	mark, marked := found.GetAnnotations()[desired.AnnotationSyncedFrom]
	if mark == desired.SyncedFrom(kyma) || !r.own && r.hasTakenIn(kyma, found) {
		return nil
	}
	if !marked {
		if r.own {
			return fault.New(fault.Rejected, ReasonRemoteKymaClaimed,
				"Kyma %s exists in the control plane itself, and is not a copy of %s", nameOf(found), nameOf(kyma))
		}
		return nil
	}
	belongs, err := a.belongsToAnother(ctx, found, mark, r)
	if err != nil || !belongs {
		return err // its Kyma is gone, or knows nothing of it: the cluster got a new one
	}
	return fault.New(fault.Rejected, ReasonRemoteKymaClaimed, "remote Kyma %s belongs to another Kyma: two Kymas cannot share it", nameOf(found))
}

// belongsToAnother tells whether there is the Kyma whose mark a remote Kyma has, and its status says so too.
func (a *Activities) belongsToAnother(ctx context.Context, found client.Object, mark string, r *remote) (bool, error) {
	key, ok := keyOf(mark)
	if !ok {
		return false, nil // not written by us
	}
	other := &v1beta2.Kyma{}
	err := a.controlPlane.Get(ctx, key, other)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the Kyma to which remote Kyma %s belongs by its mark: %w", nameOf(found), err)
	}
	recorded := other.Status.Remote
	return recorded != nil && (recorded.UID == "" || recorded.UID == string(found.GetUID())) &&
		(recorded.Cluster == "" || recorded.Cluster == string(r.uid)), nil
}

// hasTakenIn tells whether a remote Kyma is the one that a Kyma was last synchronized with, in this cluster.
func (r *remote) hasTakenIn(kyma *v1beta2.Kyma, found client.Object) bool {
	recorded := kyma.Status.Remote
	return recorded != nil && recorded.UID != "" && recorded.UID == string(found.GetUID()) && recorded.Cluster == string(r.uid)
}

// deleteRemoteKyma deletes the remote Kyma if it is this Kyma's. It says what holds it.
// One with another mark, or none, is so by its uid, as it was taken in.
func (a *Activities) deleteRemoteKyma(ctx context.Context, kyma *v1beta2.Kyma, place types.NamespacedName, uid string, r *remote) error {
	found := metadataOf(ourKind(shared.KindKyma))
	err := r.Get(ctx, place, found)
	if apierrors.IsNotFound(err) || kindMissing(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read remote Kyma %s: %w", place, err)
	}
	mark, marked := found.Annotations[desired.AnnotationSyncedFrom]
	switch {
	case marked && mark == desired.SyncedFrom(kyma):
	case r.own, uid == "", uid != string(found.UID):
		return nil
	case marked:
		if belongs, err := a.belongsToAnother(ctx, found, mark, r); err != nil || belongs {
			return err
		}
	}
	if r.force != nil {
		if found.DeletionTimestamp.IsZero() {
			if err := r.deleteObject(ctx, found); err != nil {
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
		if err := r.deleteObject(ctx, found); err != nil {
			return err
		}
	}
	if len(others) > 0 {
		return fault.New(fault.Transient, ReasonRemoteKymaDeleting, "remote Kyma %s: %s", nameOf(found),
			shared.OtherFinalizersPresent(others))
	}
	return nil
}

// releaseRemoteKyma takes our own finalizers off a remote Kyma, which earlier generations wrote there, and says
// which others it has.
func (r *remote) releaseRemoteKyma(ctx context.Context, found *metav1.PartialObjectMetadata) ([]string, error) {
	var others []string
	for _, finalizer := range found.Finalizers {
		if finalizer != shared.FinalizerKyma && finalizer != shared.FinalizerPurge {
			others = append(others, finalizer)
		}
	}
	if len(others) == len(found.Finalizers) {
		return others, nil
	}
	before := found.DeepCopy()
	found.Finalizers = others
	err := r.Patch(ctx, found, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), remoteOwner())
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("release remote Kyma %s: %w", nameOf(found), err)
	}
	r.writes++
	return others, nil
}
