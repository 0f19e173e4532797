package shared

import "fmt"

// Annotations of module resources in the target cluster.
const (
	// AnnotationAppliedDigest is the digest of an object as rendered; the
	// sweep reads it back.
	AnnotationAppliedDigest = OperatorGroup + "/applied-digest"
	// AnnotationOwnedBy is `<manifest namespace>/<manifest name>`; a lost
	// inventory is rebuilt from it.
	AnnotationOwnedBy = OperatorGroup + "/owned-by"
	// AnnotationOwnedByUpstream is AnnotationOwnedBy as Lifecycle Manager's upstream writes it.
	AnnotationOwnedByUpstream = "deprecated-" + AnnotationOwnedBy
	// AnnotationDisclaimer warns people who edit an object that we maintain.
	AnnotationDisclaimer = OperatorGroup + "/managed-by-reconciler-disclaimer"
	// AnnotationOptional with ValueTrue on an object in a layer: the object is
	// skipped where the cluster does not know its kind.
	AnnotationOptional = OperatorGroup + "/optional"
	// AnnotationInjectData with ValueTrue on a Secret in a layer: its data is replaced
	// by the data of the Secret of the same name in the control plane.
	AnnotationInjectData = OperatorGroup + "/inject-data-from-kcp"
	// AnnotationReplace with ValueTrue on an object in a layer: the object is
	// deleted and created again if it cannot be changed. ReplaceWithData does
	// the same for kinds that hold data.
	AnnotationReplace = OperatorGroup + "/replace"
	// AnnotationHelmPolicy with HelmKeep on an object: nobody but people deletes it.
	AnnotationHelmPolicy = "helm.sh/resource-policy"
	// AnnotationHookRun on what a chart's hook made: what it ran for.
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
	// AnnotationSKRDomain is the domain of the remote cluster. It has no prefix.
	AnnotationSKRDomain = "skr-domain"
	// AnnotationRecreateDefaultCR with ValueTrue brings a default module CR
	// back after its user deleted it; without it, it stays deleted.
	AnnotationRecreateDefaultCR = OperatorGroup + "/recreate-default-cr"
	// AnnotationPurgeGracePeriod is a Go duration and overrides the flag
	// `--purge-finalizer-timeout` for one Kyma.
	AnnotationPurgeGracePeriod = OperatorGroup + "/purge-grace-period"
	// AnnotationDeferUpgradesUntil puts upgrades that are rolled out in stages off, as far as the RolloutPolicy allows: a
	// time (RFC 3339) for all modules, or `module=time` pairs. Owners set it on the remote Kyma.
	AnnotationDeferUpgradesUntil = OperatorGroup + "/defer-upgrades-until"
	// AnnotationRevokedCertificates has the serial numbers, in hexadecimal and separated by commas, of certificates of the
	// cluster's agent with which nothing is believed any more.
	AnnotationRevokedCertificates = OperatorGroup + "/revoked-certificates"
)

// AnnotationDeleteUserData allows that users' custom resources are deleted with
// a module. On a Kyma, in the control plane or in the remote cluster, its value
// names the modules, with commas between them; on a Manifest it is ValueTrue.
const AnnotationDeleteUserData = OperatorGroup + "/delete-user-data"

// Annotations of a ModuleTemplate.
const (
	// AnnotationIsClusterScoped with ValueTrue: the default CR has no namespace.
	AnnotationIsClusterScoped = OperatorGroup + "/is-cluster-scoped"
	// AnnotationRevertibleTo is a range of versions, such as ">=1.2.0 <2.0.0", that a
	// cluster may be taken back to when the template's version turns out to be bad.
	AnnotationRevertibleTo = OperatorGroup + "/revertible-to"
	// AnnotationPriority says how urgent the template's version is: PriorityRegular,
	// the default, or PriorityHotFix.
	AnnotationPriority = OperatorGroup + "/priority"
)

// Values of AnnotationPriority.
const (
	// PriorityRegular is the priority of a version that is promoted after the time
	// of its class.
	PriorityRegular = "regular"
	// PriorityHotFix is the priority of a version that a RolloutPolicy may promote
	// sooner (promotion.after.hotFix).
	PriorityHotFix = "hot-fix"
)

// IsHotFix reports whether the annotations of a ModuleTemplate say that its version
// is a hot-fix. The error names a value that is no priority.
func IsHotFix(annotations map[string]string) (bool, error) {
	switch value := annotations[AnnotationPriority]; value {
	case PriorityHotFix:
		return true, nil
	case "", PriorityRegular:
		return false, nil
	default:
		return false, fmt.Errorf("%q is no priority: it must be %s or %s", value, PriorityHotFix, PriorityRegular)
	}
}

// Annotations of a Manifest.
const (
	// AnnotationFQDN is the component name, under its old name.
	AnnotationFQDN = OperatorGroup + "/fqdn"
	// AnnotationOCMComponentName is the component name.
	AnnotationOCMComponentName = OperatorGroup + "/ocm-component-name"
	// AnnotationIsUnmanaged with ValueTrue: the module is not ours to maintain
	// any more; what is installed stays.
	AnnotationIsUnmanaged = OperatorGroup + "/is-unmanaged"
	// AnnotationInjects with ValueTrue lets the module ask for the data of Secrets in the
	// control plane (AnnotationInjectData). Only a plan sets it, so that no template of a
	// cluster's owner can ask for them.
	AnnotationInjects = OperatorGroup + "/injects-data"
	// AnnotationSyncOCIRef is the reference of the layer that was last
	// installed. It has no prefix.
	AnnotationSyncOCIRef = "sync-oci-ref"
)

// Annotations of a ModuleReleaseMeta.
const (
	// AnnotationChannels shows the versions of the channels to people, as
	// "fast=1.2.0 regular=1.1.0": a column of kubectl cannot show a list.
	AnnotationChannels = OperatorGroup + "/channels"
	// AnnotationPromotion says of the last version that Lifecycle Manager moved to
	// another channel why it did.
	AnnotationPromotion = OperatorGroup + "/promotion"
)

// AnnotationLeaderStatus on the record of an instance's settings is what its leader
// says of it: JSON with the time, and why no work can be done.
const AnnotationLeaderStatus = OperatorGroup + "/leader-status"

// AnnotationSettingsConfirmed on the record of an instance's settings is when its
// leader last wrote them, which each leader does once at least (RFC 3339).
const AnnotationSettingsConfirmed = OperatorGroup + "/settings-confirmed"

// Annotations of an Event.
const (
	// AnnotationHint says what can be done about the Event's message.
	AnnotationHint = OperatorGroup + "/hint"
)
