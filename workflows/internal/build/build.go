// Package build finds out which build executes the current workflow task. A run that wakes under another build
// continues as new before it acts.
package build

import "go.temporal.io/sdk/workflow"

// Of returns the id of the build that executes this workflow task, or that executed it if this is a replay.
// GetCurrentBuildID alone does not do this in SDK v1.50.0: if a worker has to replay a run's history first, as a new
// build does, GetCurrentBuildID returns the build of the previous task during the new task. The run would then act
// under the new build without continuing as new. A later replay reads the build from the history and would decide
// differently.
func Of(ctx workflow.Context) string {
	info := workflow.GetInfo(ctx)
	if workflow.IsReplaying(ctx) {
		return info.GetCurrentBuildID()
	}
	return info.GetBinaryChecksum() // the worker's own build id
}
