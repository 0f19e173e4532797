package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RolloutAnalysis is a Prometheus query that checks whether a version works on
// the clusters of a stage. Each value in the result must be between min and max.
// +kubebuilder:validation:XValidation:rule="has(self.min) || has(self.max)",message="a query needs min, max or both"
// +kubebuilder:validation:XValidation:rule="!has(self.min) || !has(self.max) || double(self.min) <= double(self.max)",message="min must not be above max"
type RolloutAnalysis struct {
	// Name of the query, unique in its stage.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern:=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// Query in PromQL. It must return a scalar or an instant vector. The
	// variables $module, $version, $channel and $stage are replaced by those of
	// the rollout, escaped for use in a quoted string.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Query string `json:"query"`

	// Min is the lower bound of each value, as a decimal number such as "0.99".
	// Empty means no lower bound.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern:=`^-?[0-9]+(\.[0-9]+)?$`
	// +optional
	Min string `json:"min,omitempty"`

	// Max is the upper bound of each value, as a decimal number. Empty means no
	// upper bound.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern:=`^-?[0-9]+(\.[0-9]+)?$`
	// +optional
	Max string `json:"max,omitempty"`

	// OnNoData says what a result without a value, or with NaN, means. wait, the
	// default, means that nothing is known yet. pass means that the query passes.
	// +kubebuilder:default=wait
	// +optional
	OnNoData NoDataReaction `json:"onNoData,omitempty"`
}

// NoDataReaction says how a rollout interprets a query result without a value.
// +kubebuilder:validation:Enum=wait;pass
type NoDataReaction string

// Reactions to a query result without a value.
const (
	// NoDataWait waits for a value.
	NoDataWait NoDataReaction = "wait"
	// NoDataPass lets the query pass.
	NoDataPass NoDataReaction = "pass"
)

// AnalysisState is the verdict on a query's result.
// +kubebuilder:validation:Enum=Passed;Failed;Waiting
type AnalysisState string

// States of a query.
const (
	// AnalysisPassed means that each value is within its bounds.
	AnalysisPassed AnalysisState = "Passed"
	// AnalysisFailed means that a value is out of bounds.
	AnalysisFailed AnalysisState = "Failed"
	// AnalysisWaiting means that there is no value or no answer yet.
	AnalysisWaiting AnalysisState = "Waiting"
)

// RolloutAnalysisStatus records the result of a query at the time of its last
// change of state.
type RolloutAnalysisStatus struct {
	// Name of the query.
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// State of the query.
	State AnalysisState `json:"state"`
	// Value of the query at that time. If it returned several values, this is the
	// first one that is out of bounds.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Value string `json:"value,omitempty"`
	// Message names the time series of the value, or explains why there is no
	// value.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
	// Since is when the query changed to this state.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
}
