package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ModuleRolloutSpec says which version of a module reaches the clusters of a
// channel, and holds the instructions of people for the rollout.
type ModuleRolloutSpec struct {
	// ModuleName is the name of the module.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a rollout is of one module"
	ModuleName string `json:"moduleName"`

	// Channel of the clusters that get the version. Empty for a mandatory module.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a rollout is of one channel"
	// +optional
	Channel string `json:"channel,omitempty"`

	// From is the version that clusters keep until their turn.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a rollout is of one version"
	From string `json:"from"`

	// To is the version that is rolled out.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a rollout is of one version"
	To string `json:"to"`

	// Policy is the name of the RolloutPolicy that the rollout was created for.
	// It is empty if a person created the rollout: then the rollout only has
	// effect while the ModuleReleaseMeta gives the channel the version in to and
	// no policy covers the channel.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the policy of a rollout does not change"
	// +optional
	Policy string `json:"policy,omitempty"`

	// Sequence orders the rollouts of one channel. A newer rollout supersedes
	// older ones.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Sequence int64 `json:"sequence,omitempty"`

	// Plan says how the version is rolled out. It is a copy of the policy's plan
	// from when the rollout began.
	// +kubebuilder:validation:XValidation:rule="(has(self.stages) ? self.stages.map(s, s.name) : []) == (has(oldSelf.stages) ? oldSelf.stages.map(s, s.name) : [])",message="the stages of a rollout do not change"
	// +optional
	Plan RolloutPlan `json:"plan,omitempty"`

	// Paused stops the release to further clusters while it is true. The default
	// is false.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// Abort ends the rollout permanently. Clusters keep the versions that they
	// have. The default is false.
	// +optional
	Abort bool `json:"abort,omitempty"`

	// Revert takes clusters back to their previous version: stage means those of
	// the present stage, all means all. Empty means no revert.
	// +optional
	Revert RevertScope `json:"revert,omitempty"`

	// SkipSoak names stages that end without their soak time. "*" means all
	// stages.
	// +kubebuilder:validation:MaxItems=17
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=set
	// +optional
	SkipSoak []string `json:"skipSoak,omitempty"`

	// SkipAnalysis names stages with Prometheus queries that do not count. "*"
	// means all stages.
	// +kubebuilder:validation:MaxItems=17
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=set
	// +optional
	SkipAnalysis []string `json:"skipAnalysis,omitempty"`

	// AcceptFailures is how many failed clusters are accepted beyond the plan's
	// maxFailures, and beyond the limit for clusters that fail in the same way
	// (--rollout-same-failures). Raise it to continue a rollout that is held. The
	// default is 0.
	// +kubebuilder:validation:Minimum=0
	// +optional
	AcceptFailures int32 `json:"acceptFailures,omitempty"`

	// Approvals lists the approvals that people gave. The admission webhook fills
	// in who gave one, and when, whatever the request says.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Approvals []RolloutApproval `json:"approvals,omitempty"`
}

// RolloutApproval is one person's approval of one stage.
type RolloutApproval struct {
	// Stage is the name of the approved stage, or promotion for the promotion to
	// the next channel.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Stage string `json:"stage"`

	// Reason is a comment for other people.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Reason string `json:"reason,omitempty"`

	// By is the user who approved, as authenticated by the API server.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	By string `json:"by,omitempty"`

	// At is the time of the approval.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +optional
	At *metav1.Time `json:"at,omitempty"`
}

// RolloutPhase is the phase of a rollout.
// +kubebuilder:validation:Enum=Pending;Progressing;Soaking;AwaitingApproval;Paused;Held;Reverting;Reverted;Aborted;Superseded;Completed
type RolloutPhase string

// Phases of a rollout.
const (
	// RolloutPending waits for the ModuleReleaseMeta to give the version to the
	// channel.
	RolloutPending RolloutPhase = "Pending"
	// RolloutProgressing updates clusters.
	RolloutProgressing RolloutPhase = "Progressing"
	// RolloutSoaking waits for the clusters of a stage to stay healthy for long
	// enough.
	RolloutSoaking RolloutPhase = "Soaking"
	// RolloutAwaitingApproval waits for approvals.
	RolloutAwaitingApproval RolloutPhase = "AwaitingApproval"
	// RolloutPaused was paused by a person.
	RolloutPaused RolloutPhase = "Paused"
	// RolloutHeld stopped by itself.
	RolloutHeld RolloutPhase = "Held"
	// RolloutReverting takes clusters back to their previous version.
	RolloutReverting RolloutPhase = "Reverting"
	// RolloutReverted has taken the clusters back.
	RolloutReverted RolloutPhase = "Reverted"
	// RolloutAborted was ended by a person.
	RolloutAborted RolloutPhase = "Aborted"
	// RolloutSuperseded was replaced by a newer rollout.
	RolloutSuperseded RolloutPhase = "Superseded"
	// RolloutCompleted has released the version to all clusters.
	RolloutCompleted RolloutPhase = "Completed"
)

// ModuleRolloutStatus is the observed state of a rollout.
type ModuleRolloutStatus struct {
	// Phase is the phase of the rollout.
	// +optional
	Phase RolloutPhase `json:"phase,omitempty"`

	// Stage is the index, in stages, of the stage that is being rolled out.
	// Earlier stages are released, later ones are not.
	// +optional
	Stage int32 `json:"stage,omitempty"`

	// Released is the position in hash order, from 0 to 2^53, below which the
	// clusters of that stage are released.
	// +optional
	Released int64 `json:"released,omitempty"`

	// Reverts is true if the rollout takes clusters back that are no longer
	// released. If false, these clusters keep their version.
	// +optional
	Reverts bool `json:"reverts,omitempty"`

	// RevertTo is the index of the first stage to take back.
	// +optional
	RevertTo int32 `json:"revertTo,omitempty"`

	// Stages is the observed state of each stage.
	// +listType=atomic
	// +optional
	Stages []RolloutStageStatus `json:"stages,omitempty"`

	// Progress shows how many of all clusters are healthy in the new version, for
	// example "812/1000".
	// +optional
	Progress string `json:"progress,omitempty"`

	// StageName is the name of the stage that is being rolled out.
	// +optional
	StageName string `json:"stageName,omitempty"`

	// WaitsFor says what, or which people, the rollout waits for.
	// +optional
	WaitsFor string `json:"waitsFor,omitempty"`

	// WaitsSince is when this wait began.
	// +optional
	WaitsSince *metav1.Time `json:"waitsSince,omitempty"`

	// WaitsUntil is the latest time of the rollout's next step. Unset while the
	// rollout waits for people.
	// +optional
	WaitsUntil *metav1.Time `json:"waitsUntil,omitempty"`

	// Failures groups the failed clusters by the kind of failure.
	// +listType=atomic
	// +optional
	Failures []RolloutFailure `json:"failures,omitempty"`

	// Deferrals lists clusters with owners who deferred the version. It has at
	// most 20 entries, the earliest end first.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	Deferrals []DeferredCluster `json:"deferrals,omitempty"`

	// Promotion records the progress of the promotion to the next channel, after
	// the rollout has completed.
	// +optional
	Promotion *RolloutPromotionStatus `json:"promotion,omitempty"`

	// Conditions of the rollout: Ready, Reconciling and Stalled.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ObservedGeneration is the metadata.generation that the status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// StartedAt is when the first cluster was released.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// CompletedAt is when the rollout ended.
	// +optional
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`
}

// RolloutStageStatus is the observed state of one stage.
type RolloutStageStatus struct {
	// Name of the stage.
	Name string `json:"name"`

	// Bound is the position in hash order below which a stage by percent or count
	// has clusters.
	// +optional
	Bound int64 `json:"bound,omitempty"`

	// Total is how many clusters the stage has.
	// +optional
	Total int32 `json:"total"`
	// Released is how many clusters may have the version.
	// +optional
	Released int32 `json:"released"`
	// Updating is how many released clusters have not settled yet.
	// +optional
	Updating int32 `json:"updating"`
	// Ready is how many clusters are healthy in the version.
	// +optional
	Ready int32 `json:"ready"`
	// Failed is how many clusters were healthy before the version and are not
	// now.
	// +optional
	Failed int32 `json:"failed"`
	// Broken is how many clusters were not healthy before the version either.
	// +optional
	Broken int32 `json:"broken,omitempty"`
	// Waiting is how many clusters wait: for a maintenance window, for the end of
	// a deferral, or because they are excluded from reconciliation.
	// +optional
	Waiting int32 `json:"waiting,omitempty"`
	// Deferred is how many of the waiting clusters wait because their owner has
	// deferred the version.
	// +optional
	Deferred int32 `json:"deferred,omitempty"`
	// Unreachable is how many clusters cannot be reached.
	// +optional
	Unreachable int32 `json:"unreachable,omitempty"`

	// StartedAt is when the stage began. A stage begins with the wait for its
	// approval.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// FirstReleasedAt is when clusters of the stage were first released.
	// +optional
	FirstReleasedAt *metav1.Time `json:"firstReleasedAt,omitempty"`
	// ReleasedAt is when clusters of the stage were last released or taken back.
	// +optional
	ReleasedAt *metav1.Time `json:"releasedAt,omitempty"`
	// SettledAt is when all clusters of the stage had settled.
	// +optional
	SettledAt *metav1.Time `json:"settledAt,omitempty"`
	// FailedWhenSettled is how many clusters had failed at the last check. If one
	// more fails, the stage begins to soak again.
	// +optional
	FailedWhenSettled int32 `json:"failedWhenSettled,omitempty"`
	// SoakedAt is when the soak time was over and all queries had passed.
	// +optional
	SoakedAt *metav1.Time `json:"soakedAt,omitempty"`
	// Analysis records the results of the stage's queries at their last change of
	// state.
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=name
	// +optional
	Analysis []RolloutAnalysisStatus `json:"analysis,omitempty"`
}

// DeferredCluster is a cluster with an owner who has deferred a version.
type DeferredCluster struct {
	// Kyma of the cluster, as namespace/name.
	Kyma string `json:"kyma"`
	// Until is when the cluster gets the version.
	Until metav1.Time `json:"until"`
}

// RolloutFailure is a failure that several clusters share.
type RolloutFailure struct {
	// Reason of the failure, as in a condition of the Manifest.
	Reason string `json:"reason"`
	// Message of the failure on the first cluster.
	// +optional
	Message string `json:"message,omitempty"`
	// Clusters is how many clusters failed in this way.
	Clusters int32 `json:"clusters"`
	// Kymas names the first of these clusters.
	// +kubebuilder:validation:MaxItems=10
	// +listType=atomic
	// +optional
	Kymas []string `json:"kymas,omitempty"`
	// Layer identifies the layers that were installed on these clusters.
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

// ModuleRollout is the rollout of one version of a module to the clusters of a
// channel.
type ModuleRollout struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says what is rolled out, and holds the instructions of people.
	Spec ModuleRolloutSpec `json:"spec"`
	// Status is the observed state of the rollout.
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
