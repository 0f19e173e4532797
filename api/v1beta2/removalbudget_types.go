package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RemovalBudgetSpec holds the approvals of people.
type RemovalBudgetSpec struct {
	// Approvals lists the approvals that people gave. The admission webhook fills
	// in who gave one, and when, whatever the request says.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Approvals []RemovalApproval `json:"approvals,omitempty"`
}

// RemovalApproval permits removals that the budget, or the guard of the catalog,
// holds back.
// +kubebuilder:validation:XValidation:rule="has(self.clusters) != has(self.change)",message="an approval has either clusters or change"
type RemovalApproval struct {
	// Clusters is how many more clusters may lose modules. The approval holds for
	// one window, beginning at the time of the approval.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	// +optional
	Clusters int32 `json:"clusters,omitempty"`

	// Change is the approved change of the catalog: the value of the annotation
	// operator.kyma-project.io/held-removal on the ModuleTemplate or
	// ModuleReleaseMeta.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Change string `json:"change,omitempty"`

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

// RemovalBudgetStatus says how much of the budget is used, and how much is held
// back.
type RemovalBudgetStatus struct {
	// Limit is how many clusters may lose modules within the window without an
	// approval.
	// +optional
	Limit int32 `json:"limit"`

	// Used is how many clusters have lost modules within the window.
	// +optional
	Used int32 `json:"used"`

	// Held is how many Kymas have removals that wait for the budget.
	// +optional
	Held int32 `json:"held"`

	// HeldSince is when the first of these Kymas began to wait.
	// +optional
	HeldSince *metav1.Time `json:"heldSince,omitempty"`

	// Taken lists the clusters that lost modules within the window, or are about
	// to.
	// +kubebuilder:validation:MaxItems=900
	// +listType=atomic
	// +optional
	Taken []TakenRemoval `json:"taken,omitempty"`

	// Conditions of the budget: Held.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// TakenRemoval is one cluster that counts against a budget.
type TakenRemoval struct {
	// Kyma of the cluster, as namespace/name.
	Kyma string `json:"kyma"`
	// UID of the Kyma.
	UID string `json:"uid"`
	// At is when the cluster began to count.
	At metav1.Time `json:"at"`
	// Approved is true if the cluster counts against an approval, and not against
	// the limit.
	// +optional
	Approved bool `json:"approved,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:metadata:labels="operator.kyma-project.io/managed-by=kyma"
// +kubebuilder:resource:path=removalbudgets,shortName=rb,categories=lifecycle
// +kubebuilder:printcolumn:name="Limit",type=integer,JSONPath=".status.limit"
// +kubebuilder:printcolumn:name="Used",type=integer,JSONPath=".status.used"
// +kubebuilder:printcolumn:name="Held",type=integer,JSONPath=".status.held"
// +kubebuilder:printcolumn:name="Since",type=date,JSONPath=".status.heldSince"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=".metadata.creationTimestamp"

// RemovalBudget limits how many clusters of an instance may lose modules within a
// time window, whatever the cause. Lifecycle Manager creates it with the name of
// the instance.
type RemovalBudget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec holds the approvals of people.
	// +optional
	Spec RemovalBudgetSpec `json:"spec,omitempty"`
	// Status says how much of the budget is used.
	// +optional
	Status RemovalBudgetStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// RemovalBudgetList is a list of RemovalBudgets.
type RemovalBudgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RemovalBudget `json:"items"`
}
