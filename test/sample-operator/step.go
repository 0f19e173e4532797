package main

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// finalizer keeps a Sample until the operator releases it.
const finalizer = "sample.kyma-project.io/finalizer"

// States that the operator itself takes a Sample through.
const (
	stateProcessing = "Processing"
	stateReady      = "Ready"
	stateDeleting   = "Deleting"
)

// samples is the resource that the operator serves.
func samples() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "sample.kyma-project.io", Version: "v1alpha1", Resource: "samples"}
}

// step is the next thing to do for a Sample. At most one field is set; none
// means that there is nothing to do.
type step struct {
	// addFinalizer and removeFinalizer change the Sample itself.
	addFinalizer, removeFinalizer bool
	// status is the status to write.
	status *status
}

// status is what the operator reports.
type status struct {
	state, version, message string
	generation              int64
}

// next decides what to do for a Sample as it is now, under an operator of the
// given version. A new Sample is seen Processing before it gets its state, so
// that watchers see a change.
func next(sample *unstructured.Unstructured, version string) step {
	seen := observed(sample)
	if sample.GetDeletionTimestamp() != nil {
		return nextOfDeletion(sample, seen, version)
	}
	if !hasFinalizer(sample) {
		return step{addFinalizer: true}
	}
	wanted := status{
		state: desiredState(sample), version: version,
		message: text(sample, "spec", "message"), generation: sample.GetGeneration(),
	}
	if seen.state == "" {
		wanted.state = stateProcessing
	}
	if seen == wanted {
		return step{}
	}
	return step{status: &wanted}
}

func nextOfDeletion(sample *unstructured.Unstructured, seen status, version string) step {
	if !hasFinalizer(sample) {
		return step{}
	}
	wanted := status{state: stateDeleting, version: version, generation: sample.GetGeneration()}
	blocked, _, _ := unstructured.NestedBool(sample.Object, "spec", "holdDeletion")
	switch {
	case seen != wanted:
		return step{status: &wanted}
	case blocked:
		return step{}
	}
	return step{removeFinalizer: true}
}

func desiredState(sample *unstructured.Unstructured) string {
	if state := text(sample, "spec", "desiredState"); state != "" {
		return state
	}
	return stateReady
}

func observed(sample *unstructured.Unstructured) status {
	generation, _, _ := unstructured.NestedInt64(sample.Object, "status", "observedGeneration")
	return status{
		state:      text(sample, "status", "state"),
		version:    text(sample, "status", "observedVersion"),
		message:    text(sample, "status", "message"),
		generation: generation,
	}
}

func text(sample *unstructured.Unstructured, fields ...string) string {
	value, _, _ := unstructured.NestedString(sample.Object, fields...)
	return value
}

func hasFinalizer(sample *unstructured.Unstructured) bool {
	for _, name := range sample.GetFinalizers() {
		if name == finalizer {
			return true
		}
	}
	return false
}
