// Package lifecycle has tests of the life of a module in real clusters, activity by activity, without Temporal: from the
// installation, by way of drift and upgrades, to the removal and the purge.
package lifecycle
