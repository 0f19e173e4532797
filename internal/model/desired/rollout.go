package desired

import (
	"hash/fnv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// RolloutDelay is the share of a spread that falls to one Kyma, or to one of its Manifests, for one change of what
// many Kymas share. It depends on the two alone, so that whoever finds the change computes the same: watchers, the
// sweep and reports name it by the inputs digest that it leads to.
func RolloutDelay(uid types.UID, change string, spread time.Duration) time.Duration {
	h := fnv.New64a()
	_, _ = h.Write([]byte(string(uid) + "/" + change))
	return time.Duration(float64(spread) * float64(h.Sum64()%10_000) / 10_000)
}

// digestSeparator stands between the digest of a Kyma's own inputs and that of those that it shares with others.
const digestSeparator = "."

// OnlySharedChanged tells whether two inputs digests of one Kyma differ, and in nothing but what many Kymas share: the
// catalog, the instance's settings, the image pull Secret, the trusted keys. Such a change reaches the fleet spread
// over time. Digests of earlier releases do not tell the two apart.
func OnlySharedChanged(before, now string) bool {
	ownBefore, sharedBefore, split := strings.Cut(before, digestSeparator)
	ownNow, sharedNow, splitNow := strings.Cut(now, digestSeparator)
	return split && splitNow && ownBefore == ownNow && sharedBefore != sharedNow
}
