package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RemovalBudgetSpec has what people approve.
type RemovalBudgetSpec struct {
	// Approvals that people gave. Who gave one, and when, is filled in on
	// admission, whatever the request says.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Approvals []RemovalApproval `json:"approvals,omitempty"`
}

// RemovalApproval lets removals go on that the budget, or the guard of the
// catalog, holds.
// +kubebuilder:validation:XValidation:rule="has(self.clusters) != has(self.change)",message="an approval has either clusters or change"
type RemovalApproval struct {
	// Clusters is how many more clusters may lose modules within the window that
	// begins when this is approved.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	// +optional
	Clusters int32 `json:"clusters,omitempty"`

	// Change is the change of the catalog that is approved: the value of the
	// annotation operator.kyma-project.io/held-removal on the ModuleTemplate or
	// ModuleReleaseMeta.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Change string `json:"change,omitempty"`

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

// RemovalBudgetStatus says how much of the budget is used, and what waits.
type RemovalBudgetStatus struct {
	// Limit is how many clusters may lose modules within the window without an
	// approval.
	// +optional
	Limit int32 `json:"limit"`

	// Used is how many clusters have lost modules within the window.
	// +optional
	Used int32 `json:"used"`

	// Held is how many Kymas have removals that wait.
	// +optional
	Held int32 `json:"held"`

	// HeldSince is since when the first of them waits.
	// +optional
	HeldSince *metav1.Time `json:"heldSince,omitempty"`

	// Taken has the clusters that lost modules within the window, or are about to.
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

// TakenRemoval is one cluster that counts in a budget.
type TakenRemoval struct {
	// Kyma is the cluster's, as namespace/name.
	Kyma string `json:"kyma"`
	// UID is that of the Kyma.
	UID string `json:"uid"`
	// At is since when it counts.
	At metav1.Time `json:"at"`
	// Approved is true if it counts in what was approved, and not in the limit.
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

// RemovalBudget bounds how many clusters of an instance lose modules within a
// window of time, whatever causes it. Lifecycle Manager makes it, with the name
// of the instance.
type RemovalBudget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec has what people approve.
	// +optional
	Spec RemovalBudgetSpec `json:"spec,omitempty"`
	// Status is how much of the budget is used.
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
