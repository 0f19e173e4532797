package desired

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// Annotations of ours that are not in package shared (docs/contract.md#annotations).
const (
	// AnnotationSyncedFrom marks objects that a synchronization brought into a cluster: the copy of the Kyma,
	// ModuleTemplates and ModuleReleaseMetas. Its value is `<namespace>/<name>` of the Kyma in the control plane.
	// Marked objects are never mistaken for originals, even in the control plane's own cluster
	// (docs/design/sync.md#the-control-planes-own-cluster).
	AnnotationSyncedFrom = shared.OperatorGroup + "/synced-from"
	// AnnotationAllowDowngrade with "true" on a Kyma allows its modules to be downgraded.
	AnnotationAllowDowngrade = shared.OperatorGroup + "/allow-downgrade"
	// AnnotationApprovedRemoval on a ModuleTemplate or ModuleReleaseMeta records that waiting removals were approved in
	// the RemovalBudget. Its value is that of AnnotationGuardedRemoval. It causes a reconcile of the Kymas, and
	// approves nothing by itself.
	AnnotationApprovedRemoval = shared.OperatorGroup + "/approved-removal"
	// AnnotationGuardedRemoval on a ModuleTemplate or ModuleReleaseMeta says that removals wait for approval, because
	// they are too many at once. Its value is the resource version of the change that causes them.
	AnnotationGuardedRemoval = shared.OperatorGroup + "/held-removal"
	// AnnotationGuardedChange, next to AnnotationGuardedRemoval, is the digest of the change.
	AnnotationGuardedChange = shared.OperatorGroup + "/held-change"
	// AnnotationMandatoryBy on a ModuleTemplate names the ModuleReleaseMeta that decides, or decided, that its module
	// is mandatory. Then the template's own declaration does not count, so deleting the release meta removes the
	// module.
	AnnotationMandatoryBy = shared.OperatorGroup + "/mandatory-by"
	// AnnotationModuleEntry on a Manifest is the name of the Kyma's module entry, if that name cannot be the value of
	// the label module-name because it has a slash or is too long.
	AnnotationModuleEntry = shared.OperatorGroup + "/module-entry"
	// AnnotationCustomStateCheck on a Manifest holds the JSON of `.spec.customStateCheck` of its template.
	AnnotationCustomStateCheck = shared.OperatorGroup + "/custom-state-check"
	// AnnotationAssociatedKinds on a Manifest holds `.spec.associatedResources` of its template, see KindsText.
	AnnotationAssociatedKinds = shared.OperatorGroup + "/associated-kinds"
	// AnnotationRemoteNamespace on a Manifest is the namespace for objects that name none
	// (docs/contract.md#namespaces-and-defaults). It is the remote namespace of the Kyma at the time when the Manifest
	// was made. It stays when the Kyma moves to another namespace, because installed modules are not moved. A Manifest
	// without it uses the namespace of `--sync-namespace`.
	AnnotationRemoteNamespace = shared.OperatorGroup + "/remote-namespace"
	// AnnotationRemoteStrategy on a Manifest for a remote cluster is `.spec.sync.strategy` of its Kyma, if that is not
	// the default strategy.
	AnnotationRemoteStrategy = shared.OperatorGroup + "/remote-strategy"
	// AnnotationImagePullSecret on a Manifest for a remote cluster is the name of the Secret with which its workloads
	// pull images, if the instance has one (`--skr-image-pull-secret`).
	AnnotationImagePullSecret = shared.OperatorGroup + "/image-pull-secret"
	// AnnotationAgent on a RemoteAgent is the agent's spec, as package agent encodes it (Spec.Encode).
	AnnotationAgent = shared.OperatorGroup + "/agent"
	// AnnotationSpecDigest on a Manifest is the SpecDigest of its spec when we last wrote it. If the digest differs,
	// someone else edited the spec. Manifests of older builds do not have it.
	AnnotationSpecDigest = shared.OperatorGroup + "/spec-digest"
)

// ManifestFinalizers returns the finalizers that a Manifest has until its module is removed
// (docs/contract.md#finalizers).
func ManifestFinalizers() []string {
	return []string{shared.FinalizerManifest, shared.FinalizerLabelRemoval}
}

// IsSyncedCopy reports whether a synchronization brought an object, so that watchers must ignore it.
func IsSyncedCopy(object client.Object) bool {
	_, marked := object.GetAnnotations()[AnnotationSyncedFrom]
	return marked
}

// IsAgent reports whether a Manifest is for the agent in a remote cluster instead of a module (package installations).
func IsAgent(manifest client.Object) bool {
	return shared.IsRemoteAgentName(manifest.GetName())
}

// SyncedFrom returns the value of AnnotationSyncedFrom for this Kyma.
func SyncedFrom(kyma client.Object) string {
	return kyma.GetNamespace() + "/" + kyma.GetName()
}
