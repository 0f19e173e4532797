// Package workflows holds the durable workflows, one package for each. Workers register them; whoever kicks starts them (package
// kick).
//
//	kyma       KymaWorkflow: one per Kyma, open as long as the Kyma exists
//	rollout    one per ModuleRollout, until that has ended
//	routing    WatcherWorkflow: one per Watcher, until its routing has settled
//	sweep      SweepWorkflow: walks a shard of the fleet and kicks what differs
//	authority  CertificatesWorkflow: rotates the authorities of agents and listener
//
// What they share, and the pure decisions:
//
//	internal/entity     the engine: kicks, pace, retries, updates, sleep, the one place that continues as new and that completes
//	internal/mailbox    kicks: received, summed up, never lost at the end of a run
//	internal/pace       when a kick is acted on, and when a failed step is retried
//	internal/attempts   activity options, by what an activity does; short steps are attempted within the workflow task first
//	internal/logic      the version of the logic
//	internal/build      which build does the present workflow task
//	internal/attributes search attributes, upserted when they change
//	internal/removal    what the removal of a Kyma does next, and when it is forced
//	internal/view       the answer of the status query
//
// Rules: a workflow holds only what it is doing now: names, digests, versions and timers. Desired and observed state stay
// in the API server; every step reads them anew. A change of the order of commands needs a new LogicVersion; what is
// carried from run to run only ever gains fields.
package workflows

import (
	"github.com/kyma-project/lifecycle-manager/workflows/internal/entity"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/logic"
)

// LogicVersion is the present version of the workflows' logic.
const LogicVersion = logic.Version

// ErrTypeEnding is the type of the retryable error with which an update is refused by a run that is about to end. The caller
// repeats the update and reaches the next run.
const ErrTypeEnding = entity.ErrTypeEnding
