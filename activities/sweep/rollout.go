package sweep

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// rolloutTurn is when it is a Kyma's turn in the roll-out of the change that led to this digest, and whether its workflow has
// to be told. The watchers told it of the change when it happened, with the same delay: what the sweep says later
// shortens no wait.
func (w *walk) rolloutTurn(kyma *v1beta2.Kyma, digest string) (at time.Time, tell bool) {
	now := w.options.Now()
	at = now.Add(desired.RolloutDelay(kyma.UID, digest, w.options.RolloutSpread))
	return at, w.rollouts.tell(kyma.UID, digest, now, at)
}

// waitsForTurn tells whether what a cluster lacks may be what a roll-out brings there.
func waitsForTurn(why string) bool {
	return why == "" || why == syncing.CatalogDiffers || why == syncing.PullSecretDiffers
}

// rollouts remembers which Kymas were told of which change, until their turn has come: a roll-out over hours would
// else cost a signal to every workflow in every pass. A worker that is new to a Kyma tells it once more.
type rollouts struct {
	mu   sync.Mutex
	told map[types.UID]rollout
}

type rollout struct {
	digest string
	until  time.Time
}

// maxRollouts bounds what is remembered.
const maxRollouts = 100_000

// tell tells whether a Kyma is to be told now, and takes it as done.
func (r *rollouts) tell(uid types.UID, digest string, now, until time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, known := r.told[uid]
	if known && last.digest == digest && now.Before(last.until) {
		return false
	}
	if r.told == nil || len(r.told) >= maxRollouts && !known {
		r.told = map[types.UID]rollout{}
	}
	r.told[uid] = rollout{digest: digest, until: until}
	return true
}
