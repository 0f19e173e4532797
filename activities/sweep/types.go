// Package sweep walks the fleet at an even pace and kicks what differs from what its workflows last saw.
// It is what finds the changes that no event told of.
package sweep

import "time"

// Shards is the number of shards of the fleet. It is a constant: a Kyma's shard follows from its UID.
const Shards = 64

// WalkInput names the shard to walk.
type WalkInput struct {
	Shard int `json:"shard"`
}

// WalkResult says how a walk went.
type WalkResult struct {
	// Started is when the walk started.
	Started time.Time `json:"started"`
	// Interval is the resync interval as configured in the worker that walked.
	Interval time.Duration `json:"interval"`
	// Kymas is the number of Kymas looked at, Kicked the number of workflows that were kicked.
	Kymas  int `json:"kymas"`
	Kicked int `json:"kicked"`
}
