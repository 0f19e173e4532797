// Package workflows holds the durable workflows of Kymas and of the sweep. Packages below it hold the others. Workers register
// them; whoever kicks starts them (package kick).
//
//	kyma.go        KymaWorkflow: one per Kyma, open as long as the Kyma exists
//	               kyma_next.go decides; kyma_reconcile.go, kyma_background.go, kyma_report.go, kyma_removal.go and kyma_purge.go
//	               do; kyma_update.go answers callers; kyma_versions.go has the versions of objects that kicks named
//	modules.go     the Kyma's modules that have work: each has a coroutine of the workflow
//	module.go      the work on one Manifest until it has settled
//	               module_next.go decides; module_reconcile.go, _follow.go, _removal.go and _purge.go do
//	sweep.go       SweepWorkflow: walks a shard of the fleet and kicks what differs
//	entity.go      kicks, pace and retries of a Kyma or of one of its modules
//
// What other packages of workflows share with them, and the pure decisions:
//
//	internal/logic    the version of the logic
//	internal/attributes search attributes, upserted when they change
//	internal/build    which build does the present workflow task
//	internal/attempts activity options, by what an activity does; short steps are attempted within the workflow task first
//	internal/ending   the one place that continues as new, the one that completes
//	internal/mailbox  kicks: received, summed up, never lost at the end of a run
//	internal/pace     when a kick is acted on, and when a failed step is retried
//	internal/removal  what the removal of a Kyma does next, and when it is forced
//	internal/view     the answer of the status query
//
// Rules: a workflow holds only what it is doing now: names, digests, versions and timers. Desired and observed state stay
// in the API server; every step reads them anew. A change of the order of commands needs a new LogicVersion; what is
// carried from run to run only ever gains fields.
package workflows

import (
	"github.com/kyma-project/lifecycle-manager/workflows/internal/ending"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/logic"
)

// LogicVersion is the present version of the workflows' logic.
const LogicVersion = logic.Version

// ErrTypeEnding is the type of the retryable error with which an update is refused by a run that is about to end. The caller
// repeats the update and reaches the next run.
const ErrTypeEnding = ending.ErrType
