// Package workflows holds the durable workflows of Lifecycle Manager and the decisions they make.
//
//	kyma.go        KymaWorkflow: one per Kyma, open as long as the Kyma exists
//	manifest.go    ManifestWorkflow: one per Manifest at work, closed when the Manifest has settled
//	sweep.go       SweepWorkflow: walks a shard of the fleet and kicks what differs
//
// What they share:
//
//	entity.go      identity, mailbox, pace and the reconcile update of one run
//	mailbox.go     kicks: received, summed up, never lost at the end of a run
//	pace.go        when a kick is acted on (pure)
//	backoff.go     when a failed step is tried again (pure)
//	ending.go      the one place that continues as new, the one that completes
//	options.go     activity options, by what an activity does
//	view.go        the status query, current details and search attributes
//
// A workflow holds only what it is doing now: names, digests, versions and timers. What is wanted and
// what is there stays in the API server; every step reads it anew.
package workflows
