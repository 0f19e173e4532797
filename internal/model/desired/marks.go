package desired

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// Annotations of ours beside those of package shared (docs/contract.md#annotations).
const (
	// AnnotationSyncedFrom marks what was brought into a cluster for a Kyma of a control plane: the copy of
	// the Kyma, ModuleTemplates and ModuleReleaseMetas. Its value is `<namespace>/<name>` of the Kyma in the
	// control plane. Marked objects are never taken for originals, also where the cluster is the control
	// plane's own (docs/design/sync.md#the-control-planes-own-cluster).
	AnnotationSyncedFrom = shared.OperatorGroup + "/synced-from"
	// AnnotationAllowDowngrade with "true" on a Kyma lets its modules go back to older versions.
	AnnotationAllowDowngrade = shared.OperatorGroup + "/allow-downgrade"
	// AnnotationApprovedRemoval on a ModuleTemplate or ModuleReleaseMeta notes that somebody approved, in the RemovalBudget, the
	// removals that wait (AnnotationGuardedRemoval, whose value it has): it wakes the Kymas, and approves nothing by itself.
	AnnotationApprovedRemoval = shared.OperatorGroup + "/approved-removal"
	// AnnotationGuardedRemoval on a ModuleTemplate or ModuleReleaseMeta says that removals wait for approval, as they
	// are too many at once; its value is the resource version of the change that causes them.
	AnnotationGuardedRemoval = shared.OperatorGroup + "/held-removal"
	// AnnotationGuardedChange is, beside AnnotationGuardedRemoval, the digest of what the change is about.
	AnnotationGuardedChange = shared.OperatorGroup + "/held-change"
	// AnnotationMandatoryBy on a ModuleTemplate names the ModuleReleaseMeta that decides, or decided, that its module is
	// mandatory: then the template's own mark does not, so that the module goes when the release meta is deleted.
	AnnotationMandatoryBy = shared.OperatorGroup + "/mandatory-by"
	// AnnotationModuleEntry on a Manifest is the name of the Kyma's module entry where that cannot be the
	// value of the label module-name (it has a slash or is too long).
	AnnotationModuleEntry = shared.OperatorGroup + "/module-entry"
	// AnnotationCustomStateCheck on a Manifest holds the JSON of `.spec.customStateCheck` of its template.
	AnnotationCustomStateCheck = shared.OperatorGroup + "/custom-state-check"
	// AnnotationAssociatedKinds on a Manifest holds `.spec.associatedResources` of its template, see KindsText.
	AnnotationAssociatedKinds = shared.OperatorGroup + "/associated-kinds"
	// AnnotationRemoteNamespace on a Manifest is the namespace of what names none
	// (docs/contract.md#namespaces-and-defaults): the remote namespace of its Kyma when the Manifest was made. It stays
	// when the Kyma moves to another one, for what is installed is not moved. A Manifest without it is of the namespace
	// that `--sync-namespace` names.
	AnnotationRemoteNamespace = shared.OperatorGroup + "/remote-namespace"
	// AnnotationRemoteStrategy on a Manifest for a remote cluster is `.spec.sync.strategy` of its Kyma, where that
	// is not the default one.
	AnnotationRemoteStrategy = shared.OperatorGroup + "/remote-strategy"
	// AnnotationImagePullSecret on a Manifest for a remote cluster is the name of the Secret that its workloads pull
	// their images with, where the instance has one (`--skr-image-pull-secret`).
	AnnotationImagePullSecret = shared.OperatorGroup + "/image-pull-secret"
	// AnnotationAgent on a RemoteAgent says what the agent in a remote cluster is to be, as package agents encodes it.
	AnnotationAgent = shared.OperatorGroup + "/agent"
	// AnnotationSpecDigest on a Manifest is the SpecDigest of its spec as it was written last by us: a spec with another
	// one was edited by somebody else. A Manifest without it may be from before it was written.
	AnnotationSpecDigest = shared.OperatorGroup + "/spec-digest"
)

// ManifestFinalizers are those that a Manifest has from its creation until its module is removed (docs/contract.md#finalizers).
func ManifestFinalizers() []string {
	return []string{shared.FinalizerManifest, shared.FinalizerLabelRemoval}
}

// IsSyncedCopy tells whether an object was brought by a synchronization, so that watchers ignore it.
func IsSyncedCopy(object client.Object) bool {
	_, marked := object.GetAnnotations()[AnnotationSyncedFrom]
	return marked
}

// IsAgent tells whether a Manifest brings the agent into a remote cluster, and no module (package installations).
func IsAgent(manifest client.Object) bool {
	return shared.IsRemoteAgentName(manifest.GetName())
}

// SyncedFrom is the value of AnnotationSyncedFrom for what is brought for this Kyma.
func SyncedFrom(kyma client.Object) string {
	return kyma.GetNamespace() + "/" + kyma.GetName()
}
