package desired

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/internal/platform/spread"
)

// PacingDelay returns how long a Kyma, or one of its Manifests, waits for its turn when a change concerns many Kymas.
// The delay depends only on the uid and the change, so watchers, the sweep and reports agree on it. They name a change
// by the inputs digest that it leads to.
func PacingDelay(uid types.UID, change string, span time.Duration) time.Duration {
	return spread.Delay(span, string(uid), change)
}

// digestSeparator separates the digest of a Kyma's own inputs from the digest of the inputs that it shares with others.
const digestSeparator = "."

// OnlySharedChanged reports whether two inputs digests of one Kyma differ only in the inputs that many Kymas share: the
// catalog, the instance's settings, the image pull Secret, the trusted keys. A change of these is spread over the
// fleet. It returns false for digests of earlier releases, which do not separate the two.
func OnlySharedChanged(before, now string) bool {
	ownBefore, sharedBefore, split := strings.Cut(before, digestSeparator)
	ownNow, sharedNow, splitNow := strings.Cut(now, digestSeparator)
	return split && splitNow && ownBefore == ownNow && sharedBefore != sharedNow
}
