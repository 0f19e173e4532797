package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RolloutPromotion moves a version from one channel to the next after it has been
// healthy for long enough. Lifecycle Manager then edits the ModuleReleaseMeta.
type RolloutPromotion struct {
	// Channels lists the channels in the order of promotion: from each to the
	// next. Rollouts of the last channel, and of channels that are not listed,
	// are not promoted.
	// +kubebuilder:validation:MinItems=2
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.all(c, self.filter(d, d == c).size() == 1)",message="a version comes to each channel once"
	// +listType=atomic
	Channels []string `json:"channels"`

	// After is how long the clusters must stay healthy before the promotion. It
	// depends on how big the change is for the next channel.
	// +kubebuilder:default={}
	// +optional
	After PromotionTimes `json:"after,omitempty"`

	// Approval says which promotions need an approval: none, major, minor (which
	// includes major), or all. The default is major. To approve one, approve the
	// stage named promotion. Approvals need the admission webhook, because the
	// webhook records who gave them.
	// +kubebuilder:default=major
	// +optional
	Approval PromotionApproval `json:"approval,omitempty"`

	// Persons is how many different people must approve. The default is 1.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=5
	// +optional
	Persons int32 `json:"persons,omitempty"`
}

// PromotionTimes says how long clusters must stay healthy, by the size of the
// change.
type PromotionTimes struct {
	// Patch is the time for a version with the same major and minor version. The
	// default is 24h.
	// +kubebuilder:default="24h"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=32
	// +optional
	Patch *metav1.Duration `json:"patch,omitempty"`

	// Minor is the time for a version with the same major version. The default is
	// 168h.
	// +kubebuilder:default="168h"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=32
	// +optional
	Minor *metav1.Duration `json:"minor,omitempty"`

	// Major is the time for a version with another major version. The default is
	// 336h.
	// +kubebuilder:default="336h"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=32
	// +optional
	Major *metav1.Duration `json:"major,omitempty"`

	// HotFix is the time for a hot-fix, if it is shorter than the time for the
	// size of the change. A hot-fix is a version with the annotation
	// operator.kyma-project.io/priority: hot-fix on its ModuleTemplate. It needs
	// the same approvals as any other version. Unset means that a hot-fix waits
	// like any other version.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=duration
	// +kubebuilder:validation:MaxLength=32
	// +optional
	HotFix *metav1.Duration `json:"hotFix,omitempty"`
}

// PromotionApproval says which promotions need an approval.
// +kubebuilder:validation:Enum=none;major;minor;all
type PromotionApproval string

// Promotions that need an approval.
const (
	// ApproveNone means that no promotion needs an approval.
	ApproveNone PromotionApproval = "none"
	// ApproveMajor means that promotions of another major version need one.
	ApproveMajor PromotionApproval = "major"
	// ApproveMinor means that promotions of another minor or major version need
	// one.
	ApproveMinor PromotionApproval = "minor"
	// ApproveAll means that all promotions need one.
	ApproveAll PromotionApproval = "all"
)

// VersionChange is the size of a change of version, by semantic versioning.
// +kubebuilder:validation:Enum=patch;minor;major
type VersionChange string

// Sizes of a change.
const (
	// ChangePatch is a change of the patch version or of a pre-release.
	ChangePatch VersionChange = "patch"
	// ChangeMinor is a change of the minor version.
	ChangeMinor VersionChange = "minor"
	// ChangeMajor is a change of the major version.
	ChangeMajor VersionChange = "major"
)

// RolloutPromotionStatus records the progress of the promotion of a completed
// rollout.
type RolloutPromotionStatus struct {
	// ToChannel is the channel that gets the version.
	ToChannel string `json:"toChannel"`

	// Change is the size of the change for that channel.
	// +optional
	Change VersionChange `json:"change,omitempty"`

	// Priority is hot-fix if the version's ModuleTemplate says so.
	// +kubebuilder:validation:Enum=hot-fix;regular
	// +optional
	Priority string `json:"priority,omitempty"`

	// Since is when the clusters became healthy. Unset while too many are not
	// healthy.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`

	// Until is when the clusters have been healthy for long enough.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`

	// PromotedAt is when the channel got the version.
	// +optional
	PromotedAt *metav1.Time `json:"promotedAt,omitempty"`

	// Ended explains why the promotion has ended. Empty while it continues.
	// +optional
	Ended string `json:"ended,omitempty"`
}
