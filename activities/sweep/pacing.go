package sweep

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
)

// pacingIntervals is how many intervals after the pacing span the sweep assumes that the leader has forgotten a Kyma.
const pacingIntervals = 2

// waitsForTurn reports whether a paced change may be what brings the missing content to a cluster.
func waitsForTurn(why string) bool {
	switch why {
	case "", syncing.CatalogDiffers, syncing.PullSecretDiffers, syncing.AgentDiffers:
		return true
	}
	return false
}

// pacing records since when Kymas have not applied a change that many Kymas share. The leader kicks these Kymas one after
// the other. If the sweep kicked all of them, the change would reach them all at once. If another worker takes over a
// Kyma, the time starts again.
type pacing struct {
	mu    sync.Mutex
	waits map[types.UID]pacedChange
}

type pacedChange struct {
	digest string
	since  time.Time
}

// maxPaced bounds the number of recorded Kymas.
const maxPaced = 100_000

// overdue reports whether a Kyma has waited longer than patience. If it has, its wait starts again.
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
