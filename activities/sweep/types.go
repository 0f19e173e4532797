// Package sweep walks the fleet at an even pace and finds differences that no event reported.
//
// WalkShard is the activity. A workflow per shard runs it once per resync interval. A walk reads the shard's Kymas and
// Manifests from the cache, compares each with the state that its workflow last recorded and with its cluster, and kicks
// the workflows of those that differ. It also kicks open workflows whose Kyma no longer exists (orphans.go).
//
// What must stay true:
//   - The sweep changes nothing itself, except for the reachability marks in the statuses of Manifests (unreachable.go)
//     and the Manifests that earlier builds made for agents.
//   - Checks and kicks are spread over the interval and rate-limited, so that a pass never causes a burst.
//   - Clusters marked unreachable have their own queue, so that they never delay clusters that answer (queue.go).
//   - A change of the catalog that is being paced is left to the leader. The sweep kicks only Kymas that the leader seems
//     to have forgotten (pacing.go).
//   - An interrupted walk continues at its heartbeat (cursor). No Kyma is skipped; a check may run twice.
package sweep

import (
	"time"
)

// DefaultShards is the default number of shards of the fleet (--sweep-shards). Each walk has a workflow with its own
// history and reads the list of all open workflows, so many small shards cost more than they gain.
const DefaultShards = 8

// WalkInput names the shard to walk.
type WalkInput struct {
	Shard int `json:"shard"`
	// ProbeFrom is WalkResult.ProbeFrom of the last walk.
	ProbeFrom uint64 `json:"probeFrom,omitempty"`
	// Pass counts the walks of the shard. It decides which of the comparisons that rotate are due (drift.Prober.Probe).
	Pass int `json:"pass,omitempty"`
	// RunStarted is when the sweep's current run started. An older list of open workflows may come from a lost database,
	// of which nothing is open any more.
	RunStarted time.Time `json:"runStarted,omitzero"`
}

// WalkResult reports the result of a walk.
type WalkResult struct {
	Started time.Time `json:"started"`
	// Interval is the resync interval that is configured in the worker that walked.
	Interval time.Duration `json:"interval"`
	// Shards is the number of shards that is configured there. A sweep whose shard no longer exists ends.
	Shards int `json:"shards"`
	// ProbeFrom is the position in hash order at which the next walk begins to probe clusters marked unreachable. There
	// may be more of them than fit into an interval.
	ProbeFrom uint64 `json:"probeFrom,omitempty"`
	// Kymas is the number of Kymas checked. Kicked is the number of workflows kicked.
	Kymas  int `json:"kymas"`
	Kicked int `json:"kicked"`
}

// cursor is the progress of a walk. It is heartbeated, so that another worker can continue from there. Checks that an
// attempt had started but not finished lie after the cursor.
type cursor struct {
	// Started is when the pass started.
	Started time.Time `json:"started"`
	// Shards is the number of shards. A cursor for another number of shards says nothing about this shard.
	Shards int `json:"shards"`
	// Last is the position up to which all Kymas with clusters that answer were checked.
	Last uint64 `json:"last"`
	// ProbeFrom is the position at which this pass began to probe clusters marked unreachable. Probed is the length of
	// the stretch of the hash ring after ProbeFrom in which all were probed. The ring wraps around: if an interval is too
	// short for all clusters, the next pass continues where this one ended.
	ProbeFrom uint64 `json:"probeFrom"`
	Probed    uint64 `json:"probed"`
	// Kymas and Kicked count the work done so far.
	Kymas  int `json:"kymas"`
	Kicked int `json:"kicked"`
}

// isAhead reports whether the queue of clusters that answer has yet to check a Kyma at this position.
func (c cursor) isAhead(position uint64) bool { return position > c.Last }

// isUnprobed reports the same for the queue of clusters marked unreachable.
func (c cursor) isUnprobed(position uint64) bool { return c.alongRing(position) >= c.Probed }

// alongRing returns the distance from the start of this pass's probes to a position. It wraps around at the end of the
// ring.
func (c cursor) alongRing(position uint64) uint64 { return position - c.ProbeFrom }
