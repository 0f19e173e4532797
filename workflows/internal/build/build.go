// Package build says which build does the present workflow task. A run that wakes under another one continues as new before
// it acts.
package build

import "go.temporal.io/sdk/workflow"

// Of is the id of the build that does this workflow task, or in a replay did it. GetCurrentBuildID alone is not
// that in SDK v1.50.0: where a worker has read the history of a run first, as one of a new build must, it is for the new
// task still the build that did the last one. The run would act under the new build without continuing as new, and no
// later replay could take the same decision, since for that it is the build in the history.
func Of(ctx workflow.Context) string {
	info := workflow.GetInfo(ctx)
	if workflow.IsReplaying(ctx) {
		return info.GetCurrentBuildID()
	}
	return info.GetBinaryChecksum() // which is the worker's own build id
}
