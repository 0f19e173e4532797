package fleet

import (
	"strconv"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/internal/platform/spread"
)

// Buckets is the number of parts into which the index IndexBucket divides the Kymas. Code that needs fewer parts
// combines several buckets into each, so the index does not depend on the number of parts.
const Buckets = 256

// Position returns the position of an entity in hash order.
func Position(uid types.UID) uint64 { return spread.Hash(string(uid)) }

// BucketOf returns the bucket of an entity, in 0..Buckets-1.
func BucketOf(uid types.UID) int { return int(Position(uid) % Buckets) }

// InBucket selects the Kymas of a bucket from a cache that was prepared with Register.
func InBucket(bucket int) client.ListOption {
	return client.MatchingFields{IndexBucket: strconv.Itoa(bucket)}
}

func byBucket(kyma client.Object) []string { return []string{strconv.Itoa(BucketOf(kyma.GetUID()))} }
