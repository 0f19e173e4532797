// Package logkey defines the keys of log lines, so that every line uses the same key for the same thing. Of translates
// the keys of the Temporal SDK, controller-runtime and client-go to these keys. A test in test/structure refuses all
// other keys. The package imports no other package of this repository.
package logkey

import "unicode"

// Keys of log lines.
const (
	// Kyma is the namespace/name of a Kyma.
	Kyma = "kyma"
	// Manifest is the namespace/name of a Manifest.
	Manifest = "manifest"
	// WorkflowID is the id of the workflow that logs the line, or that the line is about. Temporal's web interface and
	// command line find the workflow by this id.
	WorkflowID = "workflowID"
	// EntityWorkflowID is the id of the workflow of the Kyma or Manifest that the line is about, if WorkflowID is
	// another workflow, for example a sweep.
	EntityWorkflowID = "entityWorkflowID"
	// RunID is the id of the workflow's run.
	RunID = "runID"
	// Workflow is the type of a workflow.
	Workflow = "workflow"
	// Activity is the type of an activity.
	Activity = "activity"
	// Attempt is the number of this attempt of an activity or workflow task.
	Attempt = "attempt"
	// TaskQueue is a task queue of Temporal.
	TaskQueue = "taskQueue"
	// TemporalNamespace is a namespace in Temporal.
	TemporalNamespace = "temporalNamespace"
	// Kind is the kind of the object that a line is about.
	Kind = "kind"
	// Namespace is the namespace of that object.
	Namespace = "namespace"
	// Name is the name of that object.
	Name = "name"
	// Controller is the name of a controller of controller-runtime.
	Controller = "controller"
	// Error is the error.
	Error = "error"
	// Reason is the reason for an action.
	Reason = "reason"
	// Cause is the cause of a failed workflow task.
	Cause = "cause"
	// Message is a text from elsewhere, for example from an Event.
	Message = "message"
	// Objects holds the names of objects.
	Objects = "objects"
	// Finalizers holds the finalizers of an object.
	Finalizers = "finalizers"
	// Path is the path of a file.
	Path = "path"
	// Place is a position in a file.
	Place = "place"
	// Digest is the beginning of a digest.
	Digest = "digest"
	// Rules is the number of rules of the maintenance policy.
	Rules = "rules"
	// Window is the maintenance window.
	Window = "window"
	// Minimum is a lower limit.
	Minimum = "minimum"
	// Panic is the value of a panic.
	Panic = "panic"
	// Stack is the stack of a panic.
	Stack = "stack"
	// OthersSince is the number of equal lines that were suppressed since the last one.
	OthersSince = "othersSince"
	// Version is the version of the program.
	Version = "version"
	// Commit is the commit that the program was built from.
	Commit = "commit"
	// BuildID is the id of the program's build.
	BuildID = "buildID"
	// Percent is the share of workflows that a build gets.
	Percent = "percent"
	// Role is the role of the process.
	Role = "role"
	// Mode is the mode of the instance.
	Mode = "mode"
	// Changes describes changes.
	Changes = "changes"
	// StorageVersion is the version in which the API server stores objects of a kind on a write.
	StorageVersion = "storageVersion"
	// StoredVersions holds the other versions in which objects of a kind may be stored.
	StoredVersions = "storedVersions"
	// Total is the number of objects.
	Total = "total"
	// Manager is the name of the operator that wants notice of changes in remote clusters.
	Manager = "manager"
	// Until is the end of a period.
	Until = "until"
	// Address is the address of a listener.
	Address = "address"
	// AtWork is whether the process does work.
	AtWork = "atWork"
)

// theirs returns our key for a key of another library, if it differs by more than its spelling.
func theirs(key string) (string, bool) {
	switch key {
	case "WorkflowType":
		return Workflow, true
	case "ActivityType", "LocalActivityType":
		return Activity, true
	case "Namespace":
		return TemporalNamespace, true
	case "err":
		return Error, true
	}
	return "", false
}

// Of returns our key for a key of another library. A key that we have no word for gets our spelling: workerType for
// WorkerType, workerCount for "worker count".
func Of(key string) string {
	if ours, ok := theirs(key); ok {
		return ours
	}
	spelled := []rune{}
	upper, first := false, true
	for _, r := range key {
		switch {
		case r == ' ' || r == '-' || r == '_' || r == '.':
			upper = len(spelled) > 0
		case first:
			spelled, first = append(spelled, unicode.ToLower(r)), false
		case upper:
			spelled, upper = append(spelled, unicode.ToUpper(r)), false
		default:
			spelled = append(spelled, r)
		}
	}
	return string(spelled)
}
