package desired

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/internal/platform/spread"
)

// PacingDelay returns how long a Kyma, or one of its Manifests, waits for its turn when a change concerns many Kymas. It depends
// only on the uid and the change, so watchers, the sweep and reports agree on it. They name the change by the inputs digest that
// it leads to.
func PacingDelay(uid types.UID, change string, span time.Duration) time.Duration {
	return spread.Delay(span, string(uid), change)
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
