// Package collectors exports what only the leader knows of the whole fleet, read from the caches: States those of Kymas and
// modules, Catalog what concerns templates and release metas. They are registered in every process with watchers and
// export nothing before it leads, so that nothing is counted twice. The metrics are defined in package metrics.
package collectors
