package sweep

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
)

// pacingIntervals is after how many intervals beyond the pacing span the sweep takes it that the leader has
// forgotten a Kyma.
const pacingIntervals = 2

// waitsForTurn tells whether what a cluster lacks may be what a paced change brings there.
func waitsForTurn(why string) bool {
	switch why {
	case "", syncing.CatalogDiffers, syncing.PullSecretDiffers, syncing.AgentDiffers:
		return true
	}
	return false
}

// pacing remembers since when Kymas have not applied a change that concerns many. The leader brings it to one after
// the other; a sweep that kicked all that wait would bring it to them at once. A worker that is new to a Kyma
// starts again.
type pacing struct {
	mu    sync.Mutex
	waits map[types.UID]pacedChange
}

type pacedChange struct {
	digest string
	since  time.Time
}

// maxRollouts bounds what is remembered.
const maxPaced = 100_000

// overdue tells whether a Kyma has waited for longer than the patience, which then starts again.
func (r *pacing) overdue(uid types.UID, digest string, now time.Time, patience time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, known := r.waits[uid]
	late := known && last.digest == digest && now.Sub(last.since) >= patience
	if known && last.digest == digest && !late {
		return false
	}
	if r.waits == nil || len(r.waits) >= maxPaced && !known {
		r.waits = map[types.UID]pacedChange{}
	}
	r.waits[uid] = pacedChange{digest: digest, since: now}
	return late
}
