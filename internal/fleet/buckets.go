package fleet

import (
	"strconv"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/internal/platform/spread"
)

// Buckets is into how many parts the index IndexBucket splits the Kymas. Whoever divides the fleet into fewer parts takes
// so many buckets for each, and the index does not depend on how many that are.
const Buckets = 256

// Position returns the place of an entity in hash order.
func Position(uid types.UID) uint64 { return spread.Hash(string(uid)) }

// BucketOf is the bucket of an entity, in 0..Buckets-1.
func BucketOf(uid types.UID) int { return int(Position(uid) % Buckets) }

// InBucket selects the Kymas of a bucket from a cache on which Register was called.
func InBucket(bucket int) client.ListOption {
	return client.MatchingFields{IndexBucket: strconv.Itoa(bucket)}
}

func byBucket(kyma client.Object) []string { return []string{strconv.Itoa(BucketOf(kyma.GetUID()))} }
