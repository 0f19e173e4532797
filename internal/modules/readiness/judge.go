package readiness

import (
	"fmt"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
)

// Reasons in Observed and in conditions.
const (
	// ReasonInstalling means that everything was applied just now and nothing has been read since.
	ReasonInstalling = "Installing"
	// ReasonResourcesPending means that some of the module's resources are not ready yet.
	ReasonResourcesPending = "ResourcesPending"
	// ReasonResourcesMissing means that some applied resources no longer exist, so another reconcile is needed.
	ReasonResourcesMissing = "ResourcesMissing"
	// ReasonResourcesFailed means that waiting will not make some resources ready.
	ReasonResourcesFailed = "ResourcesFailed"
	// ReasonWorkloadStuck means that the pods of some workloads have been unable to run for too long.
	ReasonWorkloadStuck = "WorkloadStuck"
	// ReasonManagerPending means that the workload that spec.manager names is not ready yet.
	ReasonManagerPending = "ManagerPending"
	// ReasonModuleCRWanted means that the default custom resource has to be created.
	ReasonModuleCRWanted = "ModuleCRWanted"
	// ReasonModuleCRPending means that the module's custom resource reports Processing, or nothing.
	ReasonModuleCRPending = "ModuleCRPending"
	// ReasonModuleCRDeleting means that the module's custom resource is being deleted, but the module is not.
	ReasonModuleCRDeleting = "ModuleCRDeleting"
	// ReasonModuleCRError means that the module's custom resource reports Error.
	ReasonModuleCRError = "ModuleCRError"
	// ReasonModuleCRWarning means that the module's custom resource reports Warning.
	ReasonModuleCRWarning = "ModuleCRWarning"
	// ReasonModuleCRRemoved means that a user deleted the default custom resource, and it is not created again.
	ReasonModuleCRRemoved = "ModuleCRRemoved"
	// ReasonFieldConflict means that the module is ready, but somebody keeps changing one of its objects.
	ReasonFieldConflict = "FieldConflict"
	// ReasonResourcesRecreated means that the module is ready, but somebody keeps deleting one of its objects.
	ReasonResourcesRecreated = "ResourcesRecreated"
	// ReasonResourcesTerminating means that the module is ready, but somebody deleted one of its objects, and a
	// finalizer holds it.
	ReasonResourcesTerminating = "ResourcesTerminating"
	// ReasonReady means that the module is ready.
	ReasonReady = shared.ReasonReady

	// ReasonApplyFailed means that the cluster refused some objects.
	ReasonApplyFailed = "ApplyFailed"
	// ReasonNotAdmitted means that the cluster's admission control refused some objects. It may admit them later.
	ReasonNotAdmitted = "NotAdmitted"
	// ReasonFieldImmutable means that an update would change immutable fields of some objects.
	ReasonFieldImmutable = "FieldImmutable"
	// ReasonWebhookFailed means that an admission webhook for some objects does not answer.
	ReasonWebhookFailed = "AdmissionWebhookFailed"
	// ReasonNamespaceTerminating means that the namespace of some objects is being deleted.
	ReasonNamespaceTerminating = "NamespaceTerminating"
	// ReasonApplyContinues means that there is more to apply than one reconcile can do.
	ReasonApplyContinues = "ApplyContinues"
	// ReasonApplyRetried means that some objects could not be applied for the moment.
	ReasonApplyRetried = "ApplyRetried"
	// ReasonStoredVersions means that an upgrade would remove a version in which custom resources are stored.
	ReasonStoredVersions = "StoredVersions"
	// ReasonHookFailed means that a hook of the chart failed.
	ReasonHookFailed = "HookFailed"
	// ReasonHookPending means that a hook of the chart has not finished.
	ReasonHookPending = "HookPending"
	// ReasonMissingAPI means that the cluster does not serve the kind of some objects.
	ReasonMissingAPI = "MissingAPI"

	// ReasonSkipped means that the Manifest has the label to skip reconciliation.
	ReasonSkipped = "Skipped"
	// ReasonUnmanaged means that the module is unmanaged.
	ReasonUnmanaged = "Unmanaged"
	// ReasonDeleting means that the Manifest is being deleted, or no longer exists.
	ReasonDeleting = "Deleting"
	// ReasonWaitingForModuleCR means that the removal waits for the finalizers of the default custom resource.
	ReasonWaitingForModuleCR = "WaitingForModuleCR"
	// ReasonBlockedByModuleCRs means that custom resources that users created block the removal.
	ReasonBlockedByModuleCRs = "BlockedByModuleCRs"
	// ReasonWaitingForResources means that the removal waits for the deletion of resources.
	ReasonWaitingForResources = "WaitingForResources"
)

// MessageReady is the message of a ready module.
const MessageReady = "module is ready"

// Health is the health of a module's resources.
type Health struct {
	Total int32
	// pending and failed are the objects that are not ready, as "Kind namespace/name". Waiting does not make failed
	// objects ready, so they come with the reason.
	pending, failed []string
	// missing are the applied objects that no longer exist. Waiting does not bring them back.
	missing []string
	// stuck are the objects that have been pending for so long that the problems of their pods count as an error.
	stuck []string
}

// Ready returns the number of objects that are ready.
func (h Health) Ready() int32 {
	return h.Total - int32(len(h.pending)+len(h.missing)+len(h.failed)+len(h.stuck)) //nolint:gosec // bounded by the inventory
}

// ManagerHealth is the health of the workload that spec.manager names.
type ManagerHealth struct {
	// named is true if the Manifest names a manager.
	named bool
	ready bool
	name  string
}

// ModuleCR is the state of the default custom resource.
type ModuleCR struct {
	// Tracked is true if the module has a default custom resource that we manage (CreateAndDelete).
	Tracked bool
	// wanted is true if the resource has to be created: for the first time, or again.
	wanted bool
	// Exists is true if the resource exists, whether we or a user created it.
	Exists bool
	State  shared.State
	name   string
}

// Judge decides which state a module's status shows. It judges resources and custom resource separately. An error
// that the custom resource reports is shown whether or not the resources are ready. The module is Ready only if both
// are.
func Judge(h Health, manager ManagerHealth, cr ModuleCR) Observed {
	o := Observed{Ready: h.Ready(), Total: h.Total}
	say := func(state shared.State, reason, format string, args ...any) Observed {
		o.State, o.Reason, o.Message = state, reason, fmt.Sprintf(format, args...)
		return o
	}
	switch {
	case len(h.missing) > 0:
		// Missing resources come first, because everything else is reported again after they were created.
		return say(shared.StateProcessing, ReasonResourcesMissing, "missing, will be created again: %s", objects.FirstOf(h.missing))
	case len(h.failed) > 0:
		return say(shared.StateError, ReasonResourcesFailed, "%d of %d resources failed: %s",
			len(h.failed), h.Total, objects.FirstOf(h.failed))
	case len(h.stuck) > 0:
		return say(shared.StateError, ReasonWorkloadStuck, "%d of %d resources do not start: %s",
			len(h.stuck), h.Total, objects.FirstOf(h.stuck))
	case cr.Exists && cr.State == shared.StateError:
		return say(shared.StateError, ReasonModuleCRError, "%s reports Error", cr.name)
	case len(h.pending) > 0:
		return say(shared.StateProcessing, ReasonResourcesPending, "waiting for %s to become ready", objects.FirstOf(h.pending))
	case manager.named && !manager.ready:
		return say(shared.StateProcessing, ReasonManagerPending, "waiting for the module's manager %s to become ready", manager.name)
	case cr.Tracked && cr.wanted:
		o.DefaultCRWanted = true
		return say(shared.StateProcessing, ReasonModuleCRWanted, "creating %s", cr.name)
	case cr.Tracked && !cr.Exists:
		return say(shared.StateReady, ReasonModuleCRRemoved, "%s was deleted by a user and is not created again", cr.name)
	case cr.Exists:
		return judgeCR(cr, say)
	default:
		return say(shared.StateReady, ReasonReady, MessageReady)
	}
}

func judgeCR(cr ModuleCR, say func(shared.State, string, string, ...any) Observed) Observed {
	switch cr.State {
	case shared.StateReady:
		return say(shared.StateReady, ReasonReady, MessageReady)
	case shared.StateWarning:
		return say(shared.StateWarning, ReasonModuleCRWarning, "%s reports Warning", cr.name)
	case shared.StateDeleting:
		// Deleting is the state of a Manifest under deletion. This module is still installed and active.
		return say(shared.StateProcessing, ReasonModuleCRDeleting, "%s is being deleted", cr.name)
	default:
		return say(shared.StateProcessing, ReasonModuleCRPending, "waiting for %s to become ready", cr.name)
	}
}

// ResourcesReady reports whether a reason implies that the module's resources are ready.
func ResourcesReady(reason string) bool {
	switch reason {
	case ReasonManagerPending, ReasonModuleCRWanted, ReasonModuleCRPending, ReasonModuleCRDeleting,
		ReasonModuleCRWarning, ReasonModuleCRRemoved, ReasonFieldConflict, ReasonResourcesRecreated, ReasonResourcesTerminating, ReasonReady:
		return true
	}
	return false
}

// Reasons of errors that last until the Manifest changes.
const (
	// ReasonInvalidSpec means that the spec of the Manifest cannot be read.
	ReasonInvalidSpec = "InvalidManifestSpec"
	// ReasonInvalidStateCheck means that the module's custom state checks are invalid (fault.Rejected).
	ReasonInvalidStateCheck = "InvalidStateCheck"
	// ReasonDefaultCRInvalid means that the cluster refuses the default custom resource. The refusal is permanent
	// (fault.Rejected) if the resource does not match its schema, and temporary (fault.Transient) if a quota, a webhook
	// or a policy does not admit it.
	ReasonDefaultCRInvalid = "DefaultCRInvalid"
)
