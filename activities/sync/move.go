package sync

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// A remote Kyma whose place or rules are to be others (desired.Sync.MoveTo) moves in steps, each of which can be
// repeated (docs/design/sync.md#place-and-move):
//
//  1. what its owner asks for is taken in once more, where it still is;
//  2. one status write records the new place, the old one in movingFrom, and what goes with it;
//  3. it is made in the new place, with what was last accepted, and taken in there;
//  4. what is left in the old place is deleted, and movingFrom with it.
//
// A second move begins when the first has ended. Installed modules stay where they are all the while.

// ReasonMove: the remote Kyma could not be moved.
const ReasonMove = "RemoteKymaNotMoved"

// beginMove records a move that is wanted, and returns how the Kyma is synchronized from then on. What forbids it is
// found before: then the Kyma stays where it is.
func (a *Activities) beginMove(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r *remote) (desired.Sync, error) {
	to := *s.MoveTo
	if err := a.checkPlace(ctx, kyma, to, r); err != nil {
		return s, err
	}
	before := kyma.Status.Remote
	next := *before.DeepCopy()
	next.Name, next.Namespace, next.Generation = to.Name, to.Namespace, to.Generation
	next.MovingFrom = &v1beta2.RemotePlace{Name: before.Name, Namespace: before.Namespace, UID: before.UID}
	next.ImagePullSecret = ""
	if before.Generation == v1beta2.SyncGenerationExplicit && to.Generation == v1beta2.SyncGenerationDefault {
		// From now on the remote Kyma alone decides: it gets what the control plane's Kyma asked for until now,
		// for nobody asked to remove that.
		wanted := desired.WantedBy(kyma, s)
		next.Channel, next.Modules = wanted.Channel, wanted.Modules
	}
	if err := a.record(ctx, kyma, next); err != nil {
		return s, err
	}
	return desired.SyncOf(kyma, a.settings), nil
}

// move begins a move and makes the remote Kyma in its new place.
func (a *Activities) move(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r *remote) (desired.Sync, error) {
	before := s.Namespace
	s, err := a.beginMove(ctx, kyma, s, r)
	if err != nil {
		return s, err
	}
	if err := a.ensureNamespace(ctx, r, s.Namespace, s.Namespace != before); err != nil {
		return s, err
	}
	copied, err := a.ensureRemoteKyma(ctx, kyma, s, r, false)
	if err != nil {
		return s, err
	}
	_, _, err = a.takeIn(ctx, kyma, copied)
	return s, err
}

// checkPlace makes sure that a remote Kyma can be in a place.
func (a *Activities) checkPlace(ctx context.Context, kyma *v1beta2.Kyma, to desired.Place, r *remote) error {
	if err := notOntoItself(kyma, to.Name, to.Namespace, r.own); err != nil {
		return err
	}
	found := &v1beta2.Kyma{}
	err := r.Get(ctx, types.NamespacedName{Namespace: to.Namespace, Name: to.Name}, found)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for a Kyma in the place %s/%s: %w", to.Namespace, to.Name, err)
	}
	if string(found.UID) == kyma.Status.Remote.UID {
		return nil
	}
	return a.checkClaim(ctx, kyma, found, r)
}

// notOntoItself refuses that a Kyma's copy is the Kyma.
func notOntoItself(kyma *v1beta2.Kyma, name, namespace string, own bool) error {
	if !own || name != kyma.Name || namespace != kyma.Namespace {
		return nil
	}
	return fault.New(fault.Rejected, ReasonOntoItself,
		"Kyma %s cannot be synchronized onto itself: its access leads to the control plane's own cluster, "+
			"so spec.sync.namespace must be another namespace", nameOf(kyma))
}

// arrives tells whether a move has begun and the remote Kyma was not yet taken in in its new place: until then it gets
// what was last accepted, whatever is there.
func arrives(kyma *v1beta2.Kyma) bool {
	remote := kyma.Status.Remote
	return remote != nil && remote.MovingFrom != nil && remote.MovingFrom.UID == remote.UID
}

// overwrite makes a Kyma that is in the new place already, or still, ask for what was last accepted.
func (r *remote) overwrite(ctx context.Context, kyma, found *v1beta2.Kyma) error {
	accepted := kyma.Status.Remote
	if found.Spec.EffectiveChannel() == accepted.Channel && equality.Semantic.DeepEqual(found.Spec.Modules, accepted.Modules) {
		return nil
	}
	found.Spec.Channel, found.Spec.Modules = accepted.Channel, accepted.DeepCopy().Modules
	if err := r.Update(ctx, found, remoteOwner()); err != nil {
		return fmt.Errorf("write what was last accepted into remote Kyma %s: %w", nameOf(found), err)
	}
	r.writes++
	return nil
}

// endMove deletes what is left in the old place, once the remote Kyma was taken in in the new one.
func (a *Activities) endMove(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r *remote) error {
	from := kyma.Status.Remote.MovingFrom
	if from == nil || arrives(kyma) && !samePlace(from, s) {
		return nil
	}
	if err := a.leaveOld(ctx, kyma, s, r); err != nil {
		return err
	}
	next := *kyma.Status.Remote.DeepCopy()
	next.MovingFrom = nil
	return a.record(ctx, kyma, next)
}

// leaveOld deletes what a Kyma has in the place that it moves from: the catalog and the image pull Secret where the
// namespace is another one, and the remote Kyma. The namespace stays.
func (a *Activities) leaveOld(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r *remote) error {
	from := kyma.Status.Remote.MovingFrom
	if from == nil || samePlace(from, s) {
		return nil
	}
	if from.Namespace != s.Namespace {
		there, err := readCatalog(ctx, r, from.Namespace)
		if err != nil {
			return err
		}
		if err := r.deleteCatalog(ctx, there, owner{mark: desired.SyncedFrom(kyma), own: r.own}); err != nil {
			return err
		}
		if err := r.deletePullSecrets(ctx, kyma, from.Namespace); err != nil {
			return err
		}
	}
	return a.deleteRemoteKyma(ctx, kyma, types.NamespacedName{Namespace: from.Namespace, Name: from.Name}, from.UID, r)
}

func samePlace(from *v1beta2.RemotePlace, s desired.Sync) bool {
	return from.Name == s.Name && from.Namespace == s.Namespace
}

// deleteCatalog deletes what was brought for one Kyma, but for what others share.
func (r *remote) deleteCatalog(ctx context.Context, there catalogLists, mine owner) error {
	var failed []error
	for _, object := range diffCatalog(nil, there, mine).remove {
		failed = append(failed, r.deleteObject(ctx, object))
	}
	return errors.Join(failed...)
}
