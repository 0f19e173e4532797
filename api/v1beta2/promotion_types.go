package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RolloutPromotion has a version that completed on one channel move to the next,
// by an edit of the ModuleReleaseMeta, once it has been well for long enough.
type RolloutPromotion struct {
	// Channels in the order in which a version flows: from each to the one after
	// it. Rollouts of other channels, and of the last one, are not promoted.
	// +kubebuilder:validation:MinItems=2
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.all(c, self.filter(d, d == c).size() == 1)",message="a version comes to each channel once"
	// +listType=atomic
	Channels []string `json:"channels"`

	// After is how long the clusters must stay well before that, by how big the
	// change is for the next channel.
	// +kubebuilder:default={}
	// +optional
	After PromotionTimes `json:"after,omitempty"`

	// Approval says from how big a change on somebody must approve the promotion,
	// by an approval of the stage named promotion. Approvals need the admission
	// webhook, which says who gave them.
	// +kubebuilder:default=major
	// +optional
	Approval PromotionApproval `json:"approval,omitempty"`

	// Persons is how many different persons must approve.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=5
	// +optional
	Persons int32 `json:"persons,omitempty"`
}

// PromotionTimes are how long clusters must stay well, by how big a change is.
type PromotionTimes struct {
	// Patch is for a version of the same minor version.
	// +kubebuilder:default="24h"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=32
	// +optional
	Patch *metav1.Duration `json:"patch,omitempty"`

	// Minor is for a version of the same major version.
	// +kubebuilder:default="168h"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=32
	// +optional
	Minor *metav1.Duration `json:"minor,omitempty"`

	// Major is for a version of another major version.
	// +kubebuilder:default="336h"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=32
	// +optional
	Major *metav1.Duration `json:"major,omitempty"`

	// HotFix is for a version whose ModuleTemplate has the annotation
	// operator.kyma-project.io/priority: hot-fix, whatever its size, where it is
	// shorter. Unset: a hot-fix waits like any other version. Approvals are needed
	// as for any other version.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=32
	// +optional
	HotFix *metav1.Duration `json:"hotFix,omitempty"`
}

// PromotionApproval says which promotions somebody must approve.
// +kubebuilder:validation:Enum=none;major;minor;all
type PromotionApproval string

// Promotions that somebody must approve.
const (
	// ApproveNone is none of them.
	ApproveNone PromotionApproval = "none"
	// ApproveMajor is those of a major version.
	ApproveMajor PromotionApproval = "major"
	// ApproveMinor is those of a minor or a major version.
	ApproveMinor PromotionApproval = "minor"
	// ApproveAll is all of them.
	ApproveAll PromotionApproval = "all"
)

// VersionChange says, by semantic versioning, how big a change of version is.
// +kubebuilder:validation:Enum=patch;minor;major
type VersionChange string

// Sizes of a change.
const (
	// ChangePatch is one of the patch version, or of a pre-release.
	ChangePatch VersionChange = "patch"
	// ChangeMinor is one of the minor version.
	ChangeMinor VersionChange = "minor"
	// ChangeMajor is one of the major version.
	ChangeMajor VersionChange = "major"
)

// RolloutPromotionStatus says how far the promotion of a completed rollout is.
type RolloutPromotionStatus struct {
	// ToChannel is the channel that gets the version.
	ToChannel string `json:"toChannel"`

	// Change is how big the change is for that channel.
	// +optional
	Change VersionChange `json:"change,omitempty"`

	// Priority is hot-fix if the ModuleTemplate of the version says so.
	// +kubebuilder:validation:Enum=hot-fix;regular
	// +optional
	Priority string `json:"priority,omitempty"`

	// Since is since when the clusters are well; unset while too many are not.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`

	// Until is how long they must stay so.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`

	// PromotedAt is when the channel got the version.
	// +optional
	PromotedAt *metav1.Time `json:"promotedAt,omitempty"`

	// Ended says why nothing more is done; empty while it goes on.
	// +optional
	Ended string `json:"ended,omitempty"`
}
