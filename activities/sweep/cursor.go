package sweep

import "time"

// cursor is how far a walk is. It is heartbeated, so that another worker continues from there. Whatever an attempt had begun
// and not ended when it was interrupted lies behind it.
type cursor struct {
	// Started is when the pass started.
	Started time.Time `json:"started"`
	// Shards is the number of shards: a cursor of a fleet that was split otherwise says nothing of this shard.
	Shards int `json:"shards"`
	// Last is the position up to which all Kymas whose clusters answer were checked.
	Last uint64 `json:"last"`
	// ProbeFrom is the position at which this pass began to probe clusters marked unreachable, Probed the length of the
	// stretch of the hash ring behind it in which all were probed. The ring has no end: there may be more such clusters
	// than can be probed within an interval, and then the next pass continues where this one ended.
	ProbeFrom uint64 `json:"probeFrom"`
	Probed    uint64 `json:"probed"`
	// Kymas and Kicked count what was done so far.
	Kymas  int `json:"kymas"`
	Kicked int `json:"kicked"`
}

// isAhead tells whether a Kyma at this position has yet to be checked by the queue of clusters that answer.
func (c cursor) isAhead(position uint64) bool { return position > c.Last }

// isUnprobed tells the same for the queue of those marked unreachable.
func (c cursor) isUnprobed(position uint64) bool { return c.alongRing(position) >= c.Probed }

// alongRing is how far a position is behind the one at which this pass began to probe. It wraps around at the ring's seam.
func (c cursor) alongRing(position uint64) uint64 { return position - c.ProbeFrom }
