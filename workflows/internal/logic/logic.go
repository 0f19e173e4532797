// Package logic has the version of the workflows' logic. Each run records the version that it began with, so that the order
// of its commands stays the same in every replay.
package logic

import "go.temporal.io/sdk/workflow"

// Version is the present version of the workflows' logic. A change that would break recorded histories raises it, and keeps
// the old branch for two releases.
const Version = 1

// Of returns the version of the logic that this run began with. The worker that executes the first workflow task decides, not
// whoever started the run: two releases may work at the same time. Call Of exactly once per run, before any other command.
func Of(ctx workflow.Context) int {
	version := Version
	recorded := workflow.SideEffect(ctx, func(workflow.Context) any { return Version })
	if err := recorded.Get(&version); err != nil {
		panic(err) // The history is not one of ours.
	}
	return version
}
