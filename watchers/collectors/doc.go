// Package collectors exports metrics about the whole fleet, which only the leader may export.
//
// Add registers all collectors with a manager and a Prometheus registry:
//
//   - States, Overview, Catalog and Rollouts read the informers. They export the states of Kymas and modules, counts by
//     state, mandatory modules and held removals, and the newest rollouts.
//   - Workflows asks Temporal. It exports how many workflows are open or held, and how far the sweep is behind.
//   - Certificates reads Secrets. It exports overdue renewals of agents' certificates and the expiry of the listener's
//     certificate. AddCertificates registers it.
//
// The collectors are registered in every process with watchers. They export nothing before the process leads, so that
// nothing is counted twice. A value that could not be read is not exported. Package metrics defines the metrics.
package collectors
