package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ModuleRolloutSpec says which version of a module is on its way to the
// clusters of a channel, and what people want of the rollout.
type ModuleRolloutSpec struct {
	// ModuleName is the name of the module.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a rollout is of one module"
	ModuleName string `json:"moduleName"`

	// Channel whose clusters get the version; empty for a module that every
	// cluster has.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a rollout is of one channel"
	// +optional
	Channel string `json:"channel,omitempty"`

	// From is the version that clusters have until it is their turn.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a rollout is of one version"
	From string `json:"from"`

	// To is the version that is rolled out.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a rollout is of one version"
	To string `json:"to"`

	// Policy is the name of the RolloutPolicy that the rollout was made for. A
	// rollout without one was made by somebody: it has effect while the
	// ModuleReleaseMeta gives the channel the version To, and no policy is for it.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the policy of a rollout does not change"
	// +optional
	Policy string `json:"policy,omitempty"`

	// Sequence orders the rollouts of one channel: a newer one supersedes those
	// before it.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Sequence int64 `json:"sequence,omitempty"`

	// Plan is how the version is rolled out: that of the policy when the rollout
	// began.
	// +kubebuilder:validation:XValidation:rule="(has(self.stages) ? self.stages.map(s, s.name) : []) == (has(oldSelf.stages) ? oldSelf.stages.map(s, s.name) : [])",message="the stages of a rollout do not change"
	// +optional
	Plan RolloutPlan `json:"plan,omitempty"`

	// Paused stops the release to further clusters until it is false again.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// Abort ends the rollout where it is, for good.
	// +optional
	Abort bool `json:"abort,omitempty"`

	// Revert takes clusters back to the version that they had: those of the
	// present stage, or all.
	// +optional
	Revert RevertScope `json:"revert,omitempty"`

	// SkipSoak names the stages whose soak time need not be waited for; "*" is all.
	// +kubebuilder:validation:MaxItems=17
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=set
	// +optional
	SkipSoak []string `json:"skipSoak,omitempty"`

	// SkipAnalysis names the stages whose queries of Prometheus do not count; "*" is
	// all.
	// +kubebuilder:validation:MaxItems=17
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=set
	// +optional
	SkipAnalysis []string `json:"skipAnalysis,omitempty"`

	// AcceptFailures is how many failed clusters are accepted beyond what the plan
	// allows, also of the same kind, so that a rollout that was held goes on.
	// +kubebuilder:validation:Minimum=0
	// +optional
	AcceptFailures int32 `json:"acceptFailures,omitempty"`

	// Approvals that people gave. Who gave one, and when, is filled in on
	// admission, whatever the request says.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Approvals []RolloutApproval `json:"approvals,omitempty"`
}

// RolloutApproval is the approval of one stage by one person.
type RolloutApproval struct {
	// Stage that is approved; promotion for that to the next channel.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Stage string `json:"stage"`

	// Reason for people.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Reason string `json:"reason,omitempty"`

	// By is the user who approved, as the API server authenticated it.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	By string `json:"by,omitempty"`

	// At is when it was approved.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +optional
	At *metav1.Time `json:"at,omitempty"`
}

// RolloutPhase says what a rollout is doing.
// +kubebuilder:validation:Enum=Pending;Progressing;Soaking;AwaitingApproval;Paused;Held;Reverting;Reverted;Aborted;Superseded;Completed
type RolloutPhase string

// Phases of a rollout.
const (
	// RolloutPending waits for the ModuleReleaseMeta to give the channel the version.
	RolloutPending RolloutPhase = "Pending"
	// RolloutProgressing updates clusters.
	RolloutProgressing RolloutPhase = "Progressing"
	// RolloutSoaking waits until the clusters of a stage have been well for long enough.
	RolloutSoaking RolloutPhase = "Soaking"
	// RolloutAwaitingApproval waits for people.
	RolloutAwaitingApproval RolloutPhase = "AwaitingApproval"
	// RolloutPaused was paused by somebody.
	RolloutPaused RolloutPhase = "Paused"
	// RolloutHeld stopped by itself.
	RolloutHeld RolloutPhase = "Held"
	// RolloutReverting takes clusters back.
	RolloutReverting RolloutPhase = "Reverting"
	// RolloutReverted has taken them back.
	RolloutReverted RolloutPhase = "Reverted"
	// RolloutAborted was ended by somebody.
	RolloutAborted RolloutPhase = "Aborted"
	// RolloutSuperseded gave way to a newer one.
	RolloutSuperseded RolloutPhase = "Superseded"
	// RolloutCompleted has released the version to all clusters.
	RolloutCompleted RolloutPhase = "Completed"
)

// ModuleRolloutStatus says how far a rollout is.
type ModuleRolloutStatus struct {
	// Phase says what the rollout is doing.
	// +optional
	Phase RolloutPhase `json:"phase,omitempty"`

	// Stage is the position in stages of the one that is being rolled out: all
	// before it are released, those after it are not.
	// +optional
	Stage int32 `json:"stage,omitempty"`

	// Released is up to where in hash order, from 0 to 2^53, the clusters of that
	// stage are released.
	// +optional
	Released int64 `json:"released,omitempty"`

	// Reverts is true where clusters that are not released any more are taken back,
	// as opposed to those that just keep what they have.
	// +optional
	Reverts bool `json:"reverts,omitempty"`

	// RevertTo is the position of the stage from which on clusters are taken back.
	// +optional
	RevertTo int32 `json:"revertTo,omitempty"`

	// Stages says how each stage is.
	// +listType=atomic
	// +optional
	Stages []RolloutStageStatus `json:"stages,omitempty"`

	// Progress is how many clusters are well in the new version, of how many:
	// "812/1000".
	// +optional
	Progress string `json:"progress,omitempty"`

	// StageName is the name of the stage that is being rolled out.
	// +optional
	StageName string `json:"stageName,omitempty"`

	// WaitsFor says what the rollout waits for, and whom.
	// +optional
	WaitsFor string `json:"waitsFor,omitempty"`

	// WaitsSince is since when it waits for that.
	// +optional
	WaitsSince *metav1.Time `json:"waitsSince,omitempty"`

	// WaitsUntil is when it acts at the latest; unset where it waits for people.
	// +optional
	WaitsUntil *metav1.Time `json:"waitsUntil,omitempty"`

	// Failures groups the clusters that failed by what failed.
	// +listType=atomic
	// +optional
	Failures []RolloutFailure `json:"failures,omitempty"`

	// Deferrals names the clusters whose owners put the version off, those whose
	// time is over first; 20 at most.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	Deferrals []DeferredCluster `json:"deferrals,omitempty"`

	// Promotion says how far the promotion to the next channel is, once the rollout
	// has completed.
	// +optional
	Promotion *RolloutPromotionStatus `json:"promotion,omitempty"`

	// Conditions of the rollout: Ready, Reconciling and Stalled.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ObservedGeneration is the metadata.generation that the status is of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// StartedAt is when the first cluster was released, CompletedAt when the
	// rollout ended.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// CompletedAt is when the rollout ended.
	// +optional
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`
}

// RolloutStageStatus says how one stage is.
type RolloutStageStatus struct {
	// Name of the stage.
	Name string `json:"name"`

	// Bound is up to where in hash order a stage by percent or count has clusters.
	// +optional
	Bound int64 `json:"bound,omitempty"`

	// Total is how many clusters the stage has, Released how many of them may have
	// the version.
	// +optional
	Total int32 `json:"total"`
	// Released is how many clusters may have the version.
	// +optional
	Released int32 `json:"released"`
	// Updating is how many of the released ones have not settled yet.
	// +optional
	Updating int32 `json:"updating"`
	// Ready is how many are well in the version.
	// +optional
	Ready int32 `json:"ready"`
	// Failed is how many were well before and are not now.
	// +optional
	Failed int32 `json:"failed"`
	// Broken is how many were not well before either.
	// +optional
	Broken int32 `json:"broken,omitempty"`
	// Waiting is how many wait for a maintenance window, or because somebody asked
	// for it.
	// +optional
	Waiting int32 `json:"waiting,omitempty"`
	// Deferred is how many of those that wait were put off by their owners.
	// +optional
	Deferred int32 `json:"deferred,omitempty"`
	// Unreachable is how many cannot be reached.
	// +optional
	Unreachable int32 `json:"unreachable,omitempty"`

	// StartedAt is since when the stage is rolled out, which includes the wait for
	// an approval before it.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// FirstReleasedAt and ReleasedAt are when clusters of the stage were first and
	// last released.
	// +optional
	FirstReleasedAt *metav1.Time `json:"firstReleasedAt,omitempty"`
	// ReleasedAt is when clusters of the stage were last released, or taken back.
	// +optional
	ReleasedAt *metav1.Time `json:"releasedAt,omitempty"`
	// SettledAt is since when all clusters of the stage are settled.
	// +optional
	SettledAt *metav1.Time `json:"settledAt,omitempty"`
	// FailedWhenSettled is how many clusters had failed when that was last checked:
	// with one more, the stage begins to soak anew.
	// +optional
	FailedWhenSettled int32 `json:"failedWhenSettled,omitempty"`
	// SoakedAt is when the soak time was over, and the analysis good.
	// +optional
	SoakedAt *metav1.Time `json:"soakedAt,omitempty"`
	// Analysis says how the queries of the stage were when they came to their present
	// state.
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=name
	// +optional
	Analysis []RolloutAnalysisStatus `json:"analysis,omitempty"`
}

// DeferredCluster is a cluster whose owner put a version off.
type DeferredCluster struct {
	// Kyma is the cluster's, as namespace/name.
	Kyma string `json:"kyma"`
	// Until is when the cluster is updated.
	Until metav1.Time `json:"until"`
}

// RolloutFailure is what failed in the same way on some clusters.
type RolloutFailure struct {
	// Reason of the failure, as in a condition of the Manifest.
	Reason string `json:"reason"`
	// Message is the first message, as it is on the first of the clusters.
	// +optional
	Message string `json:"message,omitempty"`
	// Clusters is how many clusters failed so.
	Clusters int32 `json:"clusters"`
	// Kymas names the first of them.
	// +kubebuilder:validation:MaxItems=10
	// +listType=atomic
	// +optional
	Kymas []string `json:"kymas,omitempty"`
	// Layer identifies what was installed there.
	// +optional
	Layer string `json:"layer,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:metadata:labels="operator.kyma-project.io/managed-by=kyma"
// +kubebuilder:resource:path=modulerollouts,shortName=mro,categories=lifecycle
// +kubebuilder:printcolumn:name="Module",type=string,JSONPath=".spec.moduleName"
// +kubebuilder:printcolumn:name="Channel",type=string,JSONPath=".spec.channel"
// +kubebuilder:printcolumn:name="From",type=string,JSONPath=".spec.from"
// +kubebuilder:printcolumn:name="To",type=string,JSONPath=".spec.to"
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=".status.phase"
// +kubebuilder:printcolumn:name="Stage",type=string,JSONPath=".status.stageName"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=".status.progress"
// +kubebuilder:printcolumn:name="Waits For",type=string,JSONPath=".status.waitsFor"
// +kubebuilder:printcolumn:name="Until",type=string,priority=1,JSONPath=".status.waitsUntil"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=".metadata.creationTimestamp"

// ModuleRollout is a version of a module on its way to the clusters of a
// channel.
type ModuleRollout struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is rolled out, and what people want of it.
	Spec ModuleRolloutSpec `json:"spec"`
	// Status is how far it is.
	// +optional
	Status ModuleRolloutStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// ModuleRolloutList is a list of ModuleRollouts.
type ModuleRolloutList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ModuleRollout `json:"items"`
}
