package sync

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/purge"
	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// Purges tells which objects are forced; *purge.Teller does.
type Purges interface {
	Announce(ctx context.Context, kyma kick.Ref, o purge.Object) error
	Done(kyma kick.Ref, o purge.Object)
}

// forcing is set on a remote cluster whose Kyma is purged.
type forcing struct {
	kyma   kick.Ref
	purges Purges
	rules  purge.Rules
	forced []string
}

func (a *Activities) forcing(kyma kick.Ref) *forcing {
	return &forcing{kyma: kyma, purges: a.purges, rules: a.purgeRules}
}

// names are those of what was forced.
func (f *forcing) names() []string {
	if f == nil {
		return nil
	}
	return f.forced
}

// forceRemoteKyma takes the finalizers off the remote Kyma that is being deleted. One that a protected finalizer holds
// is left, and said to be.
func (r *remote) forceRemoteKyma(ctx context.Context, key types.NamespacedName, uid types.UID) error {
	found := metadataOf(ourKind(shared.KindKyma))
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
		if err := r.force.purges.Announce(ctx, r.force.kyma, object); err != nil {
			return err
		}
		before := found.DeepCopy()
		found.Finalizers = stay
		err := r.Patch(ctx, found, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), remoteOwner())
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("take the finalizers off remote Kyma %s: %w", key, err)
		}
		r.writes++
		r.force.purges.Done(r.force.kyma, object)
		r.force.forced = append(r.force.forced, object.String())
	}
	if held := r.force.rules.Protected(stay); len(held) > 0 {
		return fault.New(fault.Transient, ReasonRemoteKymaDeleting, "remote Kyma %s: %s", key, shared.OtherFinalizersPresent(held))
	}
	return nil
}
