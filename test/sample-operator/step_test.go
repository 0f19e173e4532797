package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type change func(*unstructured.Unstructured)

func newSample(changes ...change) *unstructured.Unstructured {
	sample := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "sample.kyma-project.io/v1alpha1", "kind": "Sample",
		"metadata": map[string]any{"name": "default", "namespace": "kyma-system", "generation": int64(1)},
		"spec":     map[string]any{},
	}}
	for _, apply := range changes {
		apply(sample)
	}
	return sample
}

func finalized(sample *unstructured.Unstructured) {
	sample.SetFinalizers([]string{"sample.kyma-project.io/finalizer"})
}

func deleted(sample *unstructured.Unstructured) {
	now := metav1.NewTime(time.Unix(0, 0))
	sample.SetDeletionTimestamp(&now)
}

func wanting(state string) change {
	return func(sample *unstructured.Unstructured) {
		sample.Object["spec"] = map[string]any{"desiredState": state}
	}
}

func reporting(state, version string, generation int64) change {
	return func(sample *unstructured.Unstructured) {
		sample.Object["status"] = map[string]any{
			"state": state, "observedVersion": version, "observedGeneration": generation,
		}
	}
}

func blockingDeletion(sample *unstructured.Unstructured) {
	sample.Object["spec"] = map[string]any{"holdDeletion": true}
}

func TestNextStepForASample(t *testing.T) {
	for name, test := range map[string]struct {
		sample *unstructured.Unstructured
		want   step
	}{
		"a new one gets a finalizer first": {
			newSample(), step{addFinalizer: true},
		},
		"one with a finalizer is seen processing before anything else": {
			newSample(finalized), step{status: &status{state: "Processing", version: "1.0.0", generation: 1}},
		},
		"a processing one gets ready by default": {
			newSample(finalized, reporting("Processing", "1.0.0", 1)), step{status: &status{state: "Ready", version: "1.0.0", generation: 1}},
		},
		"a ready one is not changed": {
			newSample(finalized, reporting("Ready", "1.0.0", 1)), step{},
		},
		"one that asks for an error gets it": {
			newSample(finalized, wanting("Error"), reporting("Ready", "1.0.0", 1)), step{status: &status{state: "Error", version: "1.0.0", generation: 1}},
		},
		"a changed spec is reported as seen even where the state stays": {
			newSample(finalized, reporting("Ready", "1.0.0", 0)), step{status: &status{state: "Ready", version: "1.0.0", generation: 1}},
		},
		"a new version of the operator reports itself": {
			newSample(finalized, reporting("Ready", "0.9.0", 1)), step{status: &status{state: "Ready", version: "1.0.0", generation: 1}},
		},
		"a deleted one is seen deleting before it is released": {
			newSample(finalized, deleted, reporting("Ready", "1.0.0", 1)), step{status: &status{state: "Deleting", version: "1.0.0", generation: 1}},
		},
		"a deleting one is released": {
			newSample(finalized, deleted, reporting("Deleting", "1.0.0", 1)), step{removeFinalizer: true},
		},
		"a deleting one that blocks its deletion stays": {
			newSample(finalized, deleted, blockingDeletion, reporting("Deleting", "1.0.0", 1)), step{},
		},
		"a deleted one that waits for others is not changed": {
			newSample(deleted), step{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.want, next(test.sample, "1.0.0"))
		})
	}
}
