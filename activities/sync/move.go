package sync

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/catalog"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// If a remote Kyma should get another place or other rules (desired.Sync.MoveTo), it moves in steps. Each step can be
// repeated (docs/design/sync.md#place-and-move):
//
//  1. Accept what its owner asks for once more in the old place.
//  2. Record the new place, and the old one in movingFrom, in one status write.
//  3. Create the remote Kyma in the new place with the last accepted state, and accept it there.
//  4. Delete what is left in the old place, then movingFrom.
//
// A second move begins after the first has ended. Installed modules do not move.

// beginMove records a move, and returns how the Kyma is synchronized from then on. It first checks the new place. If
// something forbids the move, the Kyma stays where it is.
func (a *Activities) beginMove(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r *session) (desired.Sync, error) {
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
		// From now on the remote Kyma alone decides. It gets the modules that the control plane's Kyma asked for so far,
		// because nobody asked to remove them.
		wanted := desired.WantedBy(kyma, s)
		next.Channel, next.Modules = wanted.Channel, wanted.Modules
	}
	if err := a.record(ctx, kyma, next); err != nil {
		return s, err
	}
	return desired.SyncOf(kyma, a.Settings), nil
}

// move begins a move and creates the remote Kyma in its new place.
func (a *Activities) move(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r *session) (desired.Sync, error) {
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
	_, _, err = a.accept(ctx, kyma, copied)
	return s, err
}

// checkPlace returns an error if the remote Kyma cannot be in a place.
func (a *Activities) checkPlace(ctx context.Context, kyma *v1beta2.Kyma, to desired.Place, r *session) error {
	if err := notOntoItself(kyma, to.Name, to.Namespace, r.Own); err != nil {
		return err
	}
	found := &v1beta2.Kyma{}
	err := r.Get(ctx, types.NamespacedName{Namespace: to.Namespace, Name: to.Name}, found)
	if err != nil {
		return client.IgnoreNotFound(fmt.Errorf("search for a Kyma in the place %s/%s: %w", to.Namespace, to.Name, err))
	}
	if string(found.UID) == kyma.Status.Remote.UID {
		return nil
	}
	return a.checkOwnership(ctx, kyma, found, r)
}

// endMove deletes what is left in the old place, after the remote Kyma was accepted in the new place.
func (a *Activities) endMove(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r *session) error {
	from := kyma.Status.Remote.MovingFrom
	if from == nil || isArriving(kyma) && !samePlace(from, s) {
		return nil
	}
	if err := a.clearOldPlace(ctx, kyma, s, r); err != nil {
		return err
	}
	next := *kyma.Status.Remote.DeepCopy()
	next.MovingFrom = nil
	return a.record(ctx, kyma, next)
}

// clearOldPlace deletes a Kyma's objects in its old place: the remote Kyma and, if the namespace changes, the catalog and
// the image pull Secret. The namespace stays.
func (a *Activities) clearOldPlace(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r *session) error {
	from := kyma.Status.Remote.MovingFrom
	if from == nil || samePlace(from, s) {
		return nil
	}
	if from.Namespace != s.Namespace {
		there, err := catalog.Read(ctx, r, from.Namespace)
		if err != nil {
			return err
		}
		if err := catalog.Delete(ctx, r.Cluster, there, catalog.Owner{Mark: desired.SyncedFrom(kyma), Own: r.Own}); err != nil {
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
