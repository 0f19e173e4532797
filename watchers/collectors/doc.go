// Package collectors exports what only the leader knows of the whole fleet: from the informers, States those of Kymas and
// modules, Overview how many are how, Catalog what concerns templates and release metas, and Rollouts how those are; from Temporal, Workflows how
// many are open, and how far the sweep is. They are registered in every process with watchers and export nothing before it
// leads, so that nothing is counted twice. The metrics are defined in package metrics.
package collectors
