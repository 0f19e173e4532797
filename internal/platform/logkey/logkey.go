// Package logkey has the keys of log lines: every line says the same thing under the same key, whoever logs it. Lines of
// the Temporal SDK, of controller-runtime and of client-go are given these keys by Of. A test refuses others
// (test/structure). It imports nothing of ours.
package logkey

import "unicode"

// Keys of log lines.
const (
	// Kyma is the namespace/name of a Kyma.
	Kyma = "kyma"
	// Manifest is the namespace/name of a Manifest.
	Manifest = "manifest"
	// WorkflowID is the id of the workflow that a line is from or about: what Temporal's web interface and command line find it by.
	WorkflowID = "workflowID"
	// EntityWorkflowID is the id of the workflow of the Kyma or Manifest that a line is about, where workflowID is another, such as of a sweep.
	EntityWorkflowID = "entityWorkflowID"
	// RunID is the id of the workflow's run.
	RunID = "runID"
	// Workflow is the type of a workflow.
	Workflow = "workflow"
	// Activity is the type of an activity.
	Activity = "activity"
	// Attempt is how often an activity or workflow task has begun.
	Attempt = "attempt"
	// TaskQueue is the task queue of Temporal.
	TaskQueue = "taskQueue"
	// TemporalNamespace is the namespace in Temporal.
	TemporalNamespace = "temporalNamespace"
	// Kind is the kind of the object that a line is about.
	Kind = "kind"
	// Namespace is the namespace of that object.
	Namespace = "namespace"
	// Name is the name of that object.
	Name = "name"
	// Controller is the name of a controller of controller-runtime's.
	Controller = "controller"
	// Error is what failed.
	Error = "error"
	// Reason is why something is done.
	Reason = "reason"
	// Cause is what made a workflow task fail.
	Cause = "cause"
	// Message is what is said elsewhere, such as in an Event.
	Message = "message"
	// Objects is the names of objects.
	Objects = "objects"
	// Finalizers is the finalizers of an object.
	Finalizers = "finalizers"
	// Path is the path of a file.
	Path = "path"
	// Place is where something is in a file.
	Place = "place"
	// Digest is the beginning of a digest.
	Digest = "digest"
	// Rules is the number of rules of the maintenance policy.
	Rules = "rules"
	// Window is the maintenance window.
	Window = "window"
	// Minimum is what is least.
	Minimum = "minimum"
	// Panic is what a panic said.
	Panic = "panic"
	// Stack is the where it happened.
	Stack = "stack"
	// OthersSince is how many of the same were not logged since the last one.
	OthersSince = "othersSince"
	// Version is the version of the program.
	Version = "version"
	// Commit is what the program was built from.
	Commit = "commit"
	// BuildID is what the program was built as.
	BuildID = "buildID"
	// Percent is the share of workflows that a build gets.
	Percent = "percent"
	// Role is the role of the process.
	Role = "role"
	// Mode is the mode of the instance.
	Mode = "mode"
	// Changes is what changed.
	Changes = "changes"
	// StorageVersion is the version that objects of a kind are stored in when they are written.
	StorageVersion = "storageVersion"
	// StoredVersions is other versions that objects of a kind may be stored in.
	StoredVersions = "storedVersions"
	// Total is how many objects there are.
	Total = "total"
	// Manager is who wants to know of changes in remote clusters.
	Manager = "manager"
	// Until is when something ends.
	Until = "until"
	// Address is where something listens.
	Address = "address"
	// AtWork is whether the process works.
	AtWork = "atWork"
)

// theirs are the keys of others for which ours have another word.
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

// Of is the key for what others log under theirs: our word for it, else theirs in our spelling, such as workerType for
// WorkerType and workerCount for "worker count".
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
