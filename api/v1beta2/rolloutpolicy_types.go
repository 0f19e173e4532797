package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// RolloutPolicySpec says which version changes are rolled out in stages, and how.
type RolloutPolicySpec struct {
	// Modules names the modules that the policy covers. If modules is empty and
	// selector is unset, the policy covers all modules of its namespace.
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=64
	// +listType=set
	// +optional
	Modules []string `json:"modules,omitempty"`

	// Selector covers further modules: those with a ModuleReleaseMeta that has
	// matching labels.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// Channels names the channels that the policy covers. Empty means all
	// channels.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=32
	// +listType=set
	// +optional
	Channels []string `json:"channels,omitempty"`

	// Mandatory makes the policy cover mandatory modules too. The default is
	// false.
	// +optional
	Mandatory bool `json:"mandatory,omitempty"`

	// RolloutPlan says how a version is rolled out.
	RolloutPlan `json:",inline"`
}

// RolloutPlan defines the stages in which a version reaches the clusters, and the
// conditions that stop it.
type RolloutPlan struct {
	// Stages are rolled out in this order. A cluster belongs to the first stage
	// that selects it. A last stage named rest is added for the remaining
	// clusters, unless the last stage already takes them. Empty means one stage
	// for all clusters.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(s, self.filter(t, t.name == s.name).size() == 1)",message="each stage needs a name of its own"
	// +kubebuilder:validation:XValidation:rule="self.all(s, s == self[self.size() - 1] || has(s.selector) || has(s.percent) || has(s.count))",message="only the last stage can be for the rest: give the others a selector, percent or count"
	// +kubebuilder:validation:XValidation:rule="self.all(s, s.name != 'promotion')",message="the name promotion is for approvals of the promotion"
	// +kubebuilder:validation:XValidation:rule="self.all(s, s.name != 'rest' || !(has(s.selector) || has(s.percent) || has(s.count)))",message="the name rest is for the stage that takes the rest"
	// +listType=atomic
	// +optional
	Stages []RolloutStage `json:"stages,omitempty"`

	// Concurrency is how many clusters of a stage are updated at once: a number,
	// or a percentage of the stage's clusters, but at least one cluster. The
	// default is 10%.
	// +kubebuilder:default="10%"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([1-9][0-9]?|100)%$`
	// +kubebuilder:validation:XValidation:rule="type(self) != int || self > 0",message="a number above 0, or a percentage such as 10%"
	// +optional
	Concurrency *intstr.IntOrString `json:"concurrency,omitempty"`

	// MaxFailures is how many clusters of a stage may fail before the rollout
	// stops: a number, or a percentage of the stage's clusters, rounded down. The
	// default is 5%.
	// +kubebuilder:default="5%"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]|[1-9][0-9]|100)%$`
	// +kubebuilder:validation:XValidation:rule="type(self) != int || self >= 0",message="a number, or a percentage such as 5%"
	// +optional
	MaxFailures *intstr.IntOrString `json:"maxFailures,omitempty"`

	// SettleWithin is how long the module may take on a cluster to become ready
	// in the new version. A cluster that takes longer counts as failed. The
	// default is 15m.
	// +kubebuilder:default="15m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=32
	// +optional
	SettleWithin *metav1.Duration `json:"settleWithin,omitempty"`

	// Soak is how long all clusters of a stage must stay healthy before the next
	// stage begins. Unset means that the next stage begins immediately. A stage
	// can override it.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=32
	// +optional
	Soak *metav1.Duration `json:"soak,omitempty"`

	// AnalysisInterval is how often the rollout runs a stage's Prometheus queries
	// while the stage soaks or waits for their results. The default is 5m, the
	// minimum 30s. A stage can override it.
	// +kubebuilder:default="5m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self >= duration('30s')",message="at least 30s"
	// +optional
	AnalysisInterval *metav1.Duration `json:"analysisInterval,omitempty"`

	// OnFailure says what happens if too many clusters fail, or if a query of a
	// stage fails. hold, the default, leaves all clusters as they are until a
	// person decides. revert takes clusters back to their previous version, if
	// the ModuleTemplate of the new version allows it.
	// +kubebuilder:default=hold
	// +optional
	OnFailure RolloutReaction `json:"onFailure,omitempty"`

	// RevertScope says which clusters a revert takes back: those of the present
	// stage, or all that the rollout has updated. The default is all.
	// +kubebuilder:default=all
	// +optional
	RevertScope RevertScope `json:"revertScope,omitempty"`

	// Deferral lets the owner of a cluster defer the version with the annotation
	// operator.kyma-project.io/defer-upgrades-until on the Kyma, and limits for
	// how long. Unset means that owners cannot defer it.
	// +optional
	Deferral *RolloutDeferralRule `json:"deferral,omitempty"`

	// Promotion moves the version to the next channel after the rollout has
	// completed and its clusters have stayed healthy. Unset means that the
	// version stays in its channel.
	// +optional
	Promotion *RolloutPromotion `json:"promotion,omitempty"`
}

// RolloutDeferralRule limits for how long the owner of a cluster may defer a
// version.
type RolloutDeferralRule struct {
	// Within is the maximum deferral. It starts when the version is first
	// released to the cluster's stage.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=32
	Within metav1.Duration `json:"within"`

	// AtEnd says what happens to a version that the owner would defer for longer.
	// proceed, the default, upgrades the module immediately. window upgrades it
	// in the next maintenance window of the cluster.
	// +kubebuilder:default=proceed
	// +optional
	AtEnd DeferralEnd `json:"atEnd,omitempty"`
}

// DeferralEnd says what happens to a version that cannot be deferred any longer.
// +kubebuilder:validation:Enum=proceed;window
type DeferralEnd string

// Ends of a deferral.
const (
	// DeferralProceed upgrades the module immediately.
	DeferralProceed DeferralEnd = "proceed"
	// DeferralWindow upgrades the module in the next maintenance window.
	DeferralWindow DeferralEnd = "window"
)

// RolloutReaction says what a rollout does after too many failures.
// +kubebuilder:validation:Enum=hold;revert
type RolloutReaction string

// Reactions of a rollout.
const (
	// RolloutHold leaves all clusters as they are.
	RolloutHold RolloutReaction = "hold"
	// RolloutRevert takes clusters back to their previous version.
	RolloutRevert RolloutReaction = "revert"
)

// RevertScope says which clusters a revert takes back.
// +kubebuilder:validation:Enum=stage;all
type RevertScope string

// Scopes of a revert.
const (
	// RevertStage takes back the clusters of the present stage.
	RevertStage RevertScope = "stage"
	// RevertAll takes back all clusters that the rollout has updated.
	RevertAll RevertScope = "all"
)

// RolloutStage is one stage of a rollout. It selects its clusters by selector,
// percent or count. A stage with none of them takes all remaining clusters.
// +kubebuilder:validation:XValidation:rule="[has(self.selector), has(self.percent), has(self.count)].filter(x, x).size() <= 1",message="a stage takes its clusters by selector, percent or count"
type RolloutStage struct {
	// Name of the stage.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern:=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// Selector selects the clusters by the labels of their Kymas.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// Percent selects this percentage of all clusters, in the order of a hash
	// that differs from rollout to rollout. Clusters that an earlier stage
	// selects are not selected again.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	Percent *int32 `json:"percent,omitempty"`

	// Count selects this number of clusters, in the order of the same hash.
	// +kubebuilder:validation:Minimum=1
	// +optional
	Count *int32 `json:"count,omitempty"`

	// Concurrency overrides the plan's concurrency for this stage.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([1-9][0-9]?|100)%$`
	// +kubebuilder:validation:XValidation:rule="type(self) != int || self > 0",message="a number above 0, or a percentage such as 10%"
	// +optional
	Concurrency *intstr.IntOrString `json:"concurrency,omitempty"`

	// MaxFailures overrides the plan's maxFailures for this stage.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]|[1-9][0-9]|100)%$`
	// +kubebuilder:validation:XValidation:rule="type(self) != int || self >= 0",message="a number, or a percentage such as 5%"
	// +optional
	MaxFailures *intstr.IntOrString `json:"maxFailures,omitempty"`

	// SettleWithin overrides the plan's settleWithin for this stage.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=32
	// +optional
	SettleWithin *metav1.Duration `json:"settleWithin,omitempty"`

	// Soak overrides the plan's soak for this stage.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=32
	// +optional
	Soak *metav1.Duration `json:"soak,omitempty"`

	// Analysis lists Prometheus queries that must pass before the stage is done.
	// Empty means that no query is needed.
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=name
	// +optional
	Analysis []RolloutAnalysis `json:"analysis,omitempty"`

	// AnalysisInterval overrides the plan's analysisInterval for this stage.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self >= duration('30s')",message="at least 30s"
	// +optional
	AnalysisInterval *metav1.Duration `json:"analysisInterval,omitempty"`

	// Approval makes the stage wait for people, before it begins or before it
	// counts as done. Unset means that the stage needs no approval. Approvals
	// need the admission webhook, because the webhook records who gave them.
	// +optional
	Approval *RolloutApprovalRule `json:"approval,omitempty"`
}

// RolloutApprovalRule says how many people must approve a stage, and what happens
// if they do not.
type RolloutApprovalRule struct {
	// When says whether the approval is needed before the stage begins, or after
	// it. The default is before.
	// +kubebuilder:default=before
	// +optional
	When ApprovalTime `json:"when,omitempty"`

	// Persons is how many different people must approve. The default is 1.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=5
	// +optional
	Persons int32 `json:"persons,omitempty"`

	// Expires is how long the rollout waits for the approval. Unset means that it
	// waits forever.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=32
	// +optional
	Expires *metav1.Duration `json:"expires,omitempty"`

	// OnExpiry says what happens after that time: hold, the default, stops the
	// rollout; proceed continues as if it had been approved; revert takes
	// clusters back.
	// +kubebuilder:default=hold
	// +optional
	OnExpiry ExpiryReaction `json:"onExpiry,omitempty"`
}

// ApprovalTime says when an approval is needed.
// +kubebuilder:validation:Enum=before;after
type ApprovalTime string

// Times of an approval.
const (
	// ApproveBefore asks for the approval before the first cluster of the stage
	// is updated.
	ApproveBefore ApprovalTime = "before"
	// ApproveAfter asks for the approval when the stage has soaked and its
	// queries have passed.
	ApproveAfter ApprovalTime = "after"
)

// ExpiryReaction says what a rollout does if an approval is not given in time.
// +kubebuilder:validation:Enum=hold;proceed;revert
type ExpiryReaction string

// Reactions to an expired approval.
const (
	// ExpiryHold holds the rollout.
	ExpiryHold ExpiryReaction = "hold"
	// ExpiryProceed continues as if the approval had been given.
	ExpiryProceed ExpiryReaction = "proceed"
	// ExpiryRevert takes clusters back, as after a failure.
	ExpiryRevert ExpiryReaction = "revert"
)

// RolloutPolicyStatus is the observed state of a RolloutPolicy.
type RolloutPolicyStatus struct {
	// Conditions of the policy: Ready.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ObservedGeneration is the metadata.generation that the status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Channels is how many channels of modules the policy applies to.
	// +optional
	Channels int32 `json:"channels,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:metadata:labels="operator.kyma-project.io/managed-by=kyma"
// +kubebuilder:resource:path=rolloutpolicies,shortName=rop,categories=lifecycle
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=".status.conditions[?(@.type=='Ready')].status"
// +kubebuilder:printcolumn:name="Channels",type=integer,JSONPath=".status.channels"
// +kubebuilder:printcolumn:name="On Failure",type=string,JSONPath=".spec.onFailure"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=".metadata.creationTimestamp"

// RolloutPolicy makes new module versions reach the clusters in stages.
type RolloutPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says what the policy covers, and defines its stages.
	Spec RolloutPolicySpec `json:"spec"`
	// Status is the observed state of the policy.
	// +optional
	Status RolloutPolicyStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// RolloutPolicyList is a list of RolloutPolicies.
type RolloutPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RolloutPolicy `json:"items"`
}
