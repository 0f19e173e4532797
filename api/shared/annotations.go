package shared

import "fmt"

// Annotations of module resources in the target cluster.
const (
	// AnnotationAppliedDigest is the digest of an object as it was rendered. The sweep compares it.
	AnnotationAppliedDigest = OperatorGroup + "/applied-digest"
	// AnnotationOwnedBy is `<manifest namespace>/<manifest name>`. Lifecycle Manager rebuilds a lost inventory from it.
	AnnotationOwnedBy = OperatorGroup + "/owned-by"
	// AnnotationOwnedByUpstream is the name under which Kyma's own Lifecycle Manager writes AnnotationOwnedBy.
	AnnotationOwnedByUpstream = "deprecated-" + AnnotationOwnedBy
	// AnnotationDisclaimer warns people who edit an object that Lifecycle Manager maintains.
	AnnotationDisclaimer = OperatorGroup + "/managed-by-reconciler-disclaimer"
	// AnnotationOptional with ValueTrue on an object in a layer: Lifecycle Manager skips the object if the cluster does
	// not serve its kind.
	AnnotationOptional = OperatorGroup + "/optional"
	// AnnotationInjectData with ValueTrue on a Secret in a layer: Lifecycle Manager replaces its data by the data of
	// the Secret with the same name in the control plane.
	AnnotationInjectData = OperatorGroup + "/inject-data-from-kcp"
	// AnnotationReplace with ValueTrue on an object in a layer: Lifecycle Manager deletes and creates the object again
	// if it cannot change it. For kinds that hold data, this needs the value ReplaceWithData.
	AnnotationReplace = OperatorGroup + "/replace"
	// AnnotationHelmPolicy with HelmKeep on an object: only people delete the object.
	AnnotationHelmPolicy = "helm.sh/resource-policy"
	// AnnotationHookRun on an object that a chart's hook created identifies the run of the hook.
	AnnotationHookRun = OperatorGroup + "/hook-run"
)

// Values of annotations.
const (
	// ReplaceWithData is a value of AnnotationReplace.
	ReplaceWithData = "with-data"
	// HelmKeep is a value of AnnotationHelmPolicy.
	HelmKeep = "keep"
)

// DisclaimerText is the value of AnnotationDisclaimer.
const DisclaimerText = "DO NOT EDIT - This resource is managed by Kyma.\n" +
	"Any modifications are discarded and the resource is reverted to the original state."

// Annotations of a Kyma.
const (
	// AnnotationSKRDomain is the domain of the remote cluster. This annotation has no prefix.
	AnnotationSKRDomain = "skr-domain"
	// AnnotationRecreateDefaultCR with ValueTrue makes Lifecycle Manager create a default custom resource again after
	// its user deleted it. Without it, the resource stays deleted.
	AnnotationRecreateDefaultCR = OperatorGroup + "/recreate-default-cr"
	// AnnotationPurgeGracePeriod is a Go duration that overrides the flag `--purge-finalizer-timeout` for one Kyma.
	AnnotationPurgeGracePeriod = OperatorGroup + "/purge-grace-period"
	// AnnotationDeferUpgradesUntil defers upgrades that are rolled out in stages, within the limits of the
	// RolloutPolicy. Its value is a time (RFC 3339) for all modules, or `module=time` pairs. Owners set it on the
	// remote Kyma.
	AnnotationDeferUpgradesUntil = OperatorGroup + "/defer-upgrades-until"
	// AnnotationRevokedCertificates lists the serial numbers of revoked certificates of the cluster's agent, in
	// hexadecimal and separated by commas. The listener rejects them.
	AnnotationRevokedCertificates = OperatorGroup + "/revoked-certificates"
)

// AnnotationDeleteUserData allows Lifecycle Manager to delete users' custom resources with a module. On a Kyma, in the
// control plane or in the remote cluster, its value names the modules, separated by commas. On a Manifest it is
// ValueTrue.
const AnnotationDeleteUserData = OperatorGroup + "/delete-user-data"

// Annotations of a ModuleTemplate.
const (
	// AnnotationIsClusterScoped with ValueTrue: the default custom resource has no namespace.
	AnnotationIsClusterScoped = OperatorGroup + "/is-cluster-scoped"
	// AnnotationRevertibleTo is a range of versions, such as ">=1.2.0 <2.0.0". If the template's version turns out to
	// be bad, a rollout may take a cluster back to a version in this range.
	AnnotationRevertibleTo = OperatorGroup + "/revertible-to"
	// AnnotationPriority is the urgency of the template's version: PriorityRegular, the default, or PriorityHotFix.
	AnnotationPriority = OperatorGroup + "/priority"
)

// Values of AnnotationPriority.
const (
	// PriorityRegular is for a version that is promoted after the time for the size of its change (promotion.after).
	PriorityRegular = "regular"
	// PriorityHotFix is for a version that a RolloutPolicy may promote sooner (promotion.after.hotFix).
	PriorityHotFix = "hot-fix"
)

// IsHotFix reports whether the annotations of a ModuleTemplate mark its version as a hot-fix. It returns an error that
// names the value if the value is not a priority.
func IsHotFix(annotations map[string]string) (bool, error) {
	switch value := annotations[AnnotationPriority]; value {
	case PriorityHotFix:
		return true, nil
	case "", PriorityRegular:
		return false, nil
	default:
		return false, fmt.Errorf("%q is not a priority: use %s or %s", value, PriorityHotFix, PriorityRegular)
	}
}

// Annotations of a Manifest.
const (
	// AnnotationFQDN is the component name, under its old annotation name.
	AnnotationFQDN = OperatorGroup + "/fqdn"
	// AnnotationOCMComponentName is the component name.
	AnnotationOCMComponentName = OperatorGroup + "/ocm-component-name"
	// AnnotationIsUnmanaged with ValueTrue: Lifecycle Manager no longer maintains the module, and its objects stay
	// installed.
	AnnotationIsUnmanaged = OperatorGroup + "/is-unmanaged"
	// AnnotationInjects with ValueTrue lets the module request the data of Secrets in the control plane
	// (AnnotationInjectData). Only a plan sets it, so that no template of a cluster's owner can request them.
	AnnotationInjects = OperatorGroup + "/injects-data"
	// AnnotationSyncOCIRef is the reference of the last installed layer. This annotation has no prefix.
	AnnotationSyncOCIRef = "sync-oci-ref"
)

// Annotations of a ModuleReleaseMeta.
const (
	// AnnotationChannels shows the versions of the channels to people, as "fast=1.2.0 regular=1.1.0", because a kubectl
	// column cannot show a list.
	AnnotationChannels = OperatorGroup + "/channels"
	// AnnotationPromotion records why Lifecycle Manager last moved a version to another channel.
	AnnotationPromotion = OperatorGroup + "/promotion"
)

// AnnotationLeaderStatus is on the record of an instance's settings. The leader writes it: JSON with the time, and the
// reason if it cannot work.
const AnnotationLeaderStatus = OperatorGroup + "/leader-status"

// AnnotationSettingsConfirmed is on the record of an instance's settings. Its value is the time (RFC 3339) when the
// leader last wrote the settings. Each leader writes them at least once.
const AnnotationSettingsConfirmed = OperatorGroup + "/settings-confirmed"

// Annotations of an Event.
const (
	// AnnotationHint says what you can do about the Event's message.
	AnnotationHint = OperatorGroup + "/hint"
)
