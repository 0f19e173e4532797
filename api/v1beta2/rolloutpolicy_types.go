package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// RolloutPolicySpec says which changes of versions are rolled out in stages,
// and how.
type RolloutPolicySpec struct {
	// Modules names the modules that the policy is for. Without names and
	// without a selector it is for all modules of its namespace.
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=64
	// +listType=set
	// +optional
	Modules []string `json:"modules,omitempty"`

	// Selector selects, besides those of the named modules, ModuleReleaseMetas by
	// their labels.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// Channels names the channels that the policy is for; without names it is for
	// all.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=32
	// +listType=set
	// +optional
	Channels []string `json:"channels,omitempty"`

	// Mandatory is true where the policy is also for modules that every cluster
	// has.
	// +optional
	Mandatory bool `json:"mandatory,omitempty"`

	// RolloutPlan is how a version is rolled out.
	RolloutPlan `json:",inline"`
}

// RolloutPlan says in which stages a version reaches the clusters, and what
// stops it.
type RolloutPlan struct {
	// Stages are rolled out in this order. A cluster is in the first stage that
	// takes it; those that none takes are in a last stage, which is added where no
	// stage is for the rest.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(s, self.filter(t, t.name == s.name).size() == 1)",message="each stage needs a name of its own"
	// +kubebuilder:validation:XValidation:rule="self.all(s, s == self[self.size() - 1] || has(s.selector) || has(s.percent) || has(s.count))",message="only the last stage can be for the rest: give the others a selector, percent or count"
	// +kubebuilder:validation:XValidation:rule="self.all(s, s.name != 'promotion')",message="the name promotion is for approvals of the promotion"
	// +kubebuilder:validation:XValidation:rule="self.all(s, s.name != 'rest' || !(has(s.selector) || has(s.percent) || has(s.count)))",message="the name rest is for the stage that takes the rest"
	// +listType=atomic
	// +optional
	Stages []RolloutStage `json:"stages,omitempty"`

	// Concurrency is how many clusters of a stage are updated at once: a number, or
	// a percentage of the stage's clusters, of which one at least.
	// +kubebuilder:default="10%"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([1-9][0-9]?|100)%$`
	// +kubebuilder:validation:XValidation:rule="type(self) != int || self > 0",message="a number above 0, or a percentage such as 10%"
	// +optional
	Concurrency *intstr.IntOrString `json:"concurrency,omitempty"`

	// MaxFailures is how many clusters of a stage may fail before the rollout
	// stops: a number, or a percentage of the stage's clusters, rounded down.
	// +kubebuilder:default="5%"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]|[1-9][0-9]|100)%$`
	// +kubebuilder:validation:XValidation:rule="type(self) != int || self >= 0",message="a number, or a percentage such as 5%"
	// +optional
	MaxFailures *intstr.IntOrString `json:"maxFailures,omitempty"`

	// SettleWithin is how long a cluster may take until the module is ready in the
	// new version, before it counts as failed.
	// +kubebuilder:default="15m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=32
	// +optional
	SettleWithin *metav1.Duration `json:"settleWithin,omitempty"`

	// Soak is how long all clusters of a stage must stay well before the next stage
	// begins; a stage may have a time of its own.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=32
	// +optional
	Soak *metav1.Duration `json:"soak,omitempty"`

	// AnalysisInterval is how often the queries of a stage are asked while it soaks,
	// and while it waits for them.
	// +kubebuilder:default="5m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self >= duration('30s')",message="at least 30s"
	// +optional
	AnalysisInterval *metav1.Duration `json:"analysisInterval,omitempty"`

	// OnFailure says what happens when too many clusters failed, or a query of a
	// stage did: hold leaves all as it is and waits for somebody; revert takes
	// clusters back to the version that they had, where the ModuleTemplate of the
	// new one allows it.
	// +kubebuilder:default=hold
	// +optional
	OnFailure RolloutReaction `json:"onFailure,omitempty"`

	// RevertScope says which clusters are taken back: those of the stage that is
	// being rolled out, or all.
	// +kubebuilder:default=all
	// +optional
	RevertScope RevertScope `json:"revertScope,omitempty"`

	// Deferral says for how long the owner of a cluster may put the version off, by
	// the annotation operator.kyma-project.io/defer-upgrades-until of its Kyma.
	// Without it, nobody may.
	// +optional
	Deferral *RolloutDeferralRule `json:"deferral,omitempty"`

	// Promotion has the version move to the next channel once it has completed and
	// stayed well; without it, it stays in its channel.
	// +optional
	Promotion *RolloutPromotion `json:"promotion,omitempty"`
}

// RolloutDeferralRule says for how long a version may be put off.
type RolloutDeferralRule struct {
	// Within is the longest time, from when the version was first released to the
	// cluster's stage.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=32
	Within metav1.Duration `json:"within"`

	// AtEnd says what happens when that time is over and the owner would put the
	// version off for longer: proceed updates the module at once, window in the
	// next maintenance window of the cluster.
	// +kubebuilder:default=proceed
	// +optional
	AtEnd DeferralEnd `json:"atEnd,omitempty"`
}

// DeferralEnd is what happens when a version cannot be put off any longer.
// +kubebuilder:validation:Enum=proceed;window
type DeferralEnd string

// Ends of a deferral.
const (
	// DeferralProceed updates the module at once.
	DeferralProceed DeferralEnd = "proceed"
	// DeferralWindow updates it in the next maintenance window.
	DeferralWindow DeferralEnd = "window"
)

// RolloutReaction is what a rollout does when it cannot go on.
// +kubebuilder:validation:Enum=hold;revert
type RolloutReaction string

// Reactions of a rollout.
const (
	// RolloutHold leaves everything as it is.
	RolloutHold RolloutReaction = "hold"
	// RolloutRevert takes clusters back to the version that they had.
	RolloutRevert RolloutReaction = "revert"
)

// RevertScope says which clusters are taken back.
// +kubebuilder:validation:Enum=stage;all
type RevertScope string

// Scopes of a revert.
const (
	// RevertStage takes back the clusters of the present stage.
	RevertStage RevertScope = "stage"
	// RevertAll takes back all clusters that the rollout has updated.
	RevertAll RevertScope = "all"
)

// RolloutStage is one stage of a rollout.
// +kubebuilder:validation:XValidation:rule="[has(self.selector), has(self.percent), has(self.count)].filter(x, x).size() <= 1",message="a stage takes its clusters by selector, percent or count"
type RolloutStage struct {
	// Name of the stage.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern:=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// Selector takes the clusters whose Kymas have such labels.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// Percent takes so many of a hundred clusters, in the order of a hash that
	// differs from rollout to rollout.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	Percent *int32 `json:"percent,omitempty"`

	// Count takes so many clusters, in the same order.
	// +kubebuilder:validation:Minimum=1
	// +optional
	Count *int32 `json:"count,omitempty"`

	// Concurrency is that of this stage.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([1-9][0-9]?|100)%$`
	// +kubebuilder:validation:XValidation:rule="type(self) != int || self > 0",message="a number above 0, or a percentage such as 10%"
	// +optional
	Concurrency *intstr.IntOrString `json:"concurrency,omitempty"`

	// MaxFailures is that of this stage.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]|[1-9][0-9]|100)%$`
	// +kubebuilder:validation:XValidation:rule="type(self) != int || self >= 0",message="a number, or a percentage such as 5%"
	// +optional
	MaxFailures *intstr.IntOrString `json:"maxFailures,omitempty"`

	// SettleWithin is that of this stage.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=32
	// +optional
	SettleWithin *metav1.Duration `json:"settleWithin,omitempty"`

	// Soak is that of this stage.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=32
	// +optional
	Soak *metav1.Duration `json:"soak,omitempty"`

	// Analysis are queries of Prometheus that must do well before the stage is over.
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=name
	// +optional
	Analysis []RolloutAnalysis `json:"analysis,omitempty"`

	// AnalysisInterval is that of this stage.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self >= duration('30s')",message="at least 30s"
	// +optional
	AnalysisInterval *metav1.Duration `json:"analysisInterval,omitempty"`

	// Approval is what somebody must approve before the stage begins, or before it
	// counts as done. Approvals need the admission webhook, which says who gave
	// them.
	// +optional
	Approval *RolloutApprovalRule `json:"approval,omitempty"`
}

// RolloutApprovalRule says what is to be approved, and what happens where nobody
// does.
type RolloutApprovalRule struct {
	// When is before or after the stage.
	// +kubebuilder:default=before
	// +optional
	When ApprovalTime `json:"when,omitempty"`

	// Persons is how many different persons must approve.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=5
	// +optional
	Persons int32 `json:"persons,omitempty"`

	// Expires is how long the rollout waits; without it, as long as it takes.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=32
	// +optional
	Expires *metav1.Duration `json:"expires,omitempty"`

	// OnExpiry says what happens then.
	// +kubebuilder:default=hold
	// +optional
	OnExpiry ExpiryReaction `json:"onExpiry,omitempty"`
}

// ApprovalTime says when something is approved.
// +kubebuilder:validation:Enum=before;after
type ApprovalTime string

// Times of an approval.
const (
	// ApproveBefore is before the first cluster of the stage is updated.
	ApproveBefore ApprovalTime = "before"
	// ApproveAfter is when all clusters of the stage are well.
	ApproveAfter ApprovalTime = "after"
)

// ExpiryReaction is what a rollout does when an approval was not given in time.
// +kubebuilder:validation:Enum=hold;proceed;revert
type ExpiryReaction string

// Reactions to an approval that was not given in time.
const (
	// ExpiryHold holds the rollout.
	ExpiryHold ExpiryReaction = "hold"
	// ExpiryProceed goes on as if it had been given.
	ExpiryProceed ExpiryReaction = "proceed"
	// ExpiryRevert takes clusters back as after a failure.
	ExpiryRevert ExpiryReaction = "revert"
)

// RolloutPolicyStatus says what the policy is in force for.
type RolloutPolicyStatus struct {
	// Conditions of the policy: Ready.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ObservedGeneration is the metadata.generation that the status is of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Channels is of how many channels of modules the policy decides.
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

// RolloutPolicy has new versions of modules reach the clusters in stages.
type RolloutPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the policy is for, and its stages.
	Spec RolloutPolicySpec `json:"spec"`
	// Status is what the policy is in force for.
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
