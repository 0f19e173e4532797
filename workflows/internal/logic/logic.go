// Package logic has the version of the workflows' logic, the one marker that each run reads first, and the names of those
// from which on something is otherwise. What a recorded history decides by never changes.
package logic

import "go.temporal.io/sdk/workflow"

// Version is the version of the workflows' logic, read first in each run. A change that would break
// recorded histories raises it and keeps the old branch for two releases.
const Version = NoIdleTimers

// Versions from which on something is otherwise.
const (
	// UrgentFree is the version from which on urgent reconciles do not slow the pace down.
	UrgentFree = 2
	// DelaysApart is the version from which on kicks that wait for a roll-out do so apart from the others.
	DelaysApart = 3
	// ModuleState is the version from which on a Manifest's workflow shows the module's state to searches, and
	// workflows know which search attributes they were started with.
	ModuleState = 4
	// LocalSteps is the version from which on short steps are tried in the worker of the workflow task first.
	LocalSteps = 5
	// Background is the version from which on reconciles that nobody waits for yield to others.
	Background = 6
	// Answers is the version from which on a reconcile in the background answers what came in while it waited, and its
	// report waits for the modules that it changed.
	Answers = 7
	// NoIdleTimers is the version from which on the timer of a wait that something else ended is cancelled: it would
	// fire later, for a workflow task that does nothing.
	NoIdleTimers = 8
)

// ChangeID names the one version marker.
const ChangeID = "logic"

// Of reads the marker: the version of the logic that this run began with.
func Of(ctx workflow.Context) workflow.Version {
	return workflow.GetVersion(ctx, ChangeID, workflow.DefaultVersion, Version)
}
