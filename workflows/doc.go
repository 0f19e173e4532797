// Package workflows lists Lifecycle Manager's Temporal workflows. Each has its own package. Package worker registers
// them. Package internal/platform/kick starts and signals them.
//
//	kyma       Workflow: one per Kyma, open as long as the Kyma exists
//	rollout    Workflow: one per ModuleRollout, open until the rollout has ended
//	routing    WatcherWorkflow: one per Watcher, open until its routing has settled
//	sweep      Workflow: walks a shard of the fleet and kicks Kymas that differ from their desired state
//	authority  CertificatesWorkflow: rotates the certificate authorities of agents and listener
//
// The workflows share these packages:
//
//	internal/entity     the engine of kyma, rollout and routing: kicks, pace, retries, updates, sleep, the end of a run
//	internal/mailbox    receives kicks and sums them up; loses none when a run ends
//	internal/pace       decides when a run acts on a kick, and when it retries a failed step
//	internal/attempts   activity options by kind of activity; attempts short steps within the workflow task first
//	internal/logic      the version of the workflows' logic
//	internal/build      returns the build that executes the current workflow task
//	internal/attributes upserts search attributes when they change
//	internal/removal    decides the next step of a Kyma's removal, and when to force it
//	internal/view       the answer to the status query
//
// What must stay true:
//
//   - A workflow holds only its own progress: names, digests, versions and timers. Desired and observed state stay in
//     the API server, and every step reads them again.
//   - A change to the order of commands needs a new LogicVersion (test/replay).
//   - Types that a run carries to the next run only ever gain fields (TestThePreviousReleaseCanReadWhatRunsCarry).
package workflows

import (
	"github.com/kyma-project/lifecycle-manager/workflows/internal/entity"
	"github.com/kyma-project/lifecycle-manager/workflows/internal/logic"
)

// LogicVersion is the current version of the workflows' logic.
const LogicVersion = logic.Version

// ErrTypeEnding is the type of the retryable error that an update gets from a run that is about to end. If the caller
// sends the update again, it reaches the next run.
const ErrTypeEnding = entity.ErrTypeEnding
