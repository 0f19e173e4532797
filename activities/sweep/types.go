// Package sweep walks the fleet at an even pace and kicks what differs from what its workflows last saw.
// It finds the changes that no event reported.
package sweep

import (
	"time"
)

// DefaultShards is the number of shards of the fleet where nothing else is configured (flag sweep-shards). Each walk
// has a workflow with its history and goes over all open workflows, so that many shards of a few Kymas cost more than they
// spread.
const DefaultShards = 8

// WalkInput names the shard to walk.
type WalkInput struct {
	Shard int `json:"shard"`
	// ProbeFrom is the ProbeFrom of the last walk's result.
	ProbeFrom uint64 `json:"probeFrom,omitempty"`
	// Pass counts the walks of the shard, so that what is not compared in each of them has its turn (drift.Prober.Probe).
	Pass int `json:"pass,omitempty"`
	// RunStarted is when the sweep's present run started. A list of open workflows from before may be one of a database
	// that was lost, and of which nothing is open any more.
	RunStarted time.Time `json:"runStarted,omitzero"`
}

// WalkResult says how a walk went.
type WalkResult struct {
	// Started is when the walk started.
	Started time.Time `json:"started"`
	// Interval is the resync interval as configured in the worker that walked.
	Interval time.Duration `json:"interval"`
	// Shards is the number of shards as configured there: a sweep whose shard is none of them has come to its end.
	Shards int `json:"shards"`
	// ProbeFrom is the place in hash order with which the next walk is to begin among clusters marked unreachable: there
	// may be more of them than fit into an interval.
	ProbeFrom uint64 `json:"probeFrom,omitempty"`
	// Kymas is the number of Kymas checked, Kicked the number of workflows that were kicked.
	Kymas  int `json:"kymas"`
	Kicked int `json:"kicked"`
}

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
