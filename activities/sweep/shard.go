package sweep

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// ShardOf returns the shard of an object if the fleet has this many shards. Each shard is a range of buckets of the
// cache's index.
func ShardOf(uid types.UID, shards int) int {
	return fleet.BucketOf(uid) * shards / fleet.Buckets
}

// place is where to find a Kyma in the cache, and its position in hash order.
type place struct {
	client.ObjectKey
	uid      types.UID
	position uint64
}

// places returns the places of this shard's Kymas in hash order. It keeps no Kymas, because each Kyma is read at its
// turn, possibly minutes later.
func (w *walk) places(ctx context.Context) ([]place, error) {
	var all []place
	for bucket := range fleet.Buckets {
		if bucket*w.options.Shards/fleet.Buckets != w.shard {
			continue
		}
		var list v1beta2.KymaList
		if err := w.options.Fleet.List(ctx, &list, fleet.InBucket(bucket), client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("list Kymas: %w", err)
		}
		for i := range list.Items {
			kyma := &list.Items[i]
			all = append(all, place{ObjectKey: client.ObjectKeyFromObject(kyma), uid: kyma.UID, position: fleet.Position(kyma.UID)})
		}
	}
	slices.SortFunc(all, func(a, b place) int { return cmp.Compare(a.position, b.position) })
	return all, nil
}

// read returns the Kyma at a place from the cache. The Kyma must not be changed. read returns nil if the Kyma is gone or
// not ours.
func (w *walk) read(ctx context.Context, at place) (*v1beta2.Kyma, error) {
	kyma := &v1beta2.Kyma{}
	err := w.options.Fleet.Get(ctx, at.ObjectKey, kyma, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if kyma.UID != at.uid || !w.options.Ours(kyma.Labels) || desired.IsSyncedCopy(kyma) {
		return nil, nil //nolint:nilnil // being gone is an ordinary case
	}
	return kyma, nil
}
