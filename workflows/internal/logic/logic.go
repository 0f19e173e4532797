// Package logic has the version of the workflows' logic. Each run records the version that it began with. So its
// commands keep their order in every replay.
package logic

import "go.temporal.io/sdk/workflow"

// Version is the current version of the workflows' logic. Raise it for a change that would break recorded histories,
// and keep the old branch for two releases.
const Version = 1

// Of returns the version of the logic that this run began with. The worker that executes the first workflow task
// decides, not the starter, because two releases may work at the same time. Call Of exactly once per run, before any
// other command.
func Of(ctx workflow.Context) int {
	version := Version
	recorded := workflow.SideEffect(ctx, func(workflow.Context) any { return Version })
	if err := recorded.Get(&version); err != nil {
		panic(err) // The history was not recorded by this code.
	}
	return version
}
