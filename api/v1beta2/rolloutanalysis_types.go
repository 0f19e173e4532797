package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RolloutAnalysis is a query of Prometheus that says whether a version does well
// on the clusters of a stage: each value that it gives must be between Min and
// Max.
// +kubebuilder:validation:XValidation:rule="has(self.min) || has(self.max)",message="a query needs min, max or both"
// +kubebuilder:validation:XValidation:rule="!has(self.min) || !has(self.max) || double(self.min) <= double(self.max)",message="min must not be above max"
type RolloutAnalysis struct {
	// Name of the query.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern:=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// Query in PromQL, which gives a scalar or an instant vector. $module, $version,
	// $channel and $stage stand for those of the rollout, as the content of a quoted
	// string.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Query string `json:"query"`

	// Min is the least that each value may be, as a decimal number such as "0.99".
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern:=`^-?[0-9]+(\.[0-9]+)?$`
	// +optional
	Min string `json:"min,omitempty"`

	// Max is the most that each value may be.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern:=`^-?[0-9]+(\.[0-9]+)?$`
	// +optional
	Max string `json:"max,omitempty"`

	// OnNoData says what a query means that gives no value, or NaN: wait is that
	// nothing is known yet, pass that all is well.
	// +kubebuilder:default=wait
	// +optional
	OnNoData NoDataReaction `json:"onNoData,omitempty"`
}

// NoDataReaction is what a rollout makes of a query without a value.
// +kubebuilder:validation:Enum=wait;pass
type NoDataReaction string

// Reactions to a query without a value.
const (
	// NoDataWait waits until there is one.
	NoDataWait NoDataReaction = "wait"
	// NoDataPass takes it for a good one.
	NoDataPass NoDataReaction = "pass"
)

// AnalysisState says what a query's answer means.
// +kubebuilder:validation:Enum=Passed;Failed;Waiting
type AnalysisState string

// States of a query.
const (
	// AnalysisPassed is that each value is as it should be.
	AnalysisPassed AnalysisState = "Passed"
	// AnalysisFailed is that a value is not.
	AnalysisFailed AnalysisState = "Failed"
	// AnalysisWaiting is that there is no value, or no answer.
	AnalysisWaiting AnalysisState = "Waiting"
)

// RolloutAnalysisStatus says what a query's answer was when it came to its present
// state.
type RolloutAnalysisStatus struct {
	// Name of the query.
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// State of the query.
	State AnalysisState `json:"state"`
	// Value that it gave then: of several, the first that is not as it should be.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Value string `json:"value,omitempty"`
	// Message says of which series the value is, or why there is none.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
	// Since when the query is in this state.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}
