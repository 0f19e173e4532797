package readiness

import (
	"fmt"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
)

// Reasons in Observed and in conditions.
const (
	// ReasonInstalling: everything was applied just now, and nothing was read since.
	ReasonInstalling = "Installing"
	// ReasonResourcesPending: some of the module's resources are not ready yet.
	ReasonResourcesPending = "ResourcesPending"
	// ReasonResourcesMissing: some of them were applied and no longer exist, so that another reconcile is needed.
	ReasonResourcesMissing = "ResourcesMissing"
	// ReasonResourcesFailed: some of them cannot become ready by waiting.
	ReasonResourcesFailed = "ResourcesFailed"
	// ReasonWorkloadStuck: the pods of some of them have not been able to run for too long.
	ReasonWorkloadStuck = "WorkloadStuck"
	// ReasonManagerPending: the workload that spec.manager names is not ready yet.
	ReasonManagerPending = "ManagerPending"
	// ReasonModuleCRWanted: the default custom resource is to be created.
	ReasonModuleCRWanted = "ModuleCRWanted"
	// ReasonModuleCRPending: the module's custom resource says Processing, or nothing.
	ReasonModuleCRPending = "ModuleCRPending"
	// ReasonModuleCRDeleting: the module's custom resource is being deleted, but the module is not.
	ReasonModuleCRDeleting = "ModuleCRDeleting"
	// ReasonModuleCRError: the module's custom resource reports Error.
	ReasonModuleCRError = "ModuleCRError"
	// ReasonModuleCRWarning: the module's custom resource reports Warning.
	ReasonModuleCRWarning = "ModuleCRWarning"
	// ReasonModuleCRRemoved: a user deleted the default custom resource, and it is not created again.
	ReasonModuleCRRemoved = "ModuleCRRemoved"
	// ReasonFieldConflict: the module is ready, but somebody keeps changing one of its objects.
	ReasonFieldConflict = "FieldConflict"
	// ReasonResourcesRecreated: the module is ready, but somebody deletes one of its objects each time it is created.
	ReasonResourcesRecreated = "ResourcesRecreated"
	// ReasonResourcesTerminating: the module is ready, but somebody deleted one of its objects, and a finalizer holds it.
	ReasonResourcesTerminating = "ResourcesTerminating"
	// ReasonReady: the module is ready.
	ReasonReady = shared.ReasonReady

	// ReasonApplyFailed: the cluster refused some objects.
	ReasonApplyFailed = "ApplyFailed"
	// ReasonNotAdmitted: admission control of the cluster refused some objects, and may let them through the next time.
	ReasonNotAdmitted = "NotAdmitted"
	// ReasonFieldImmutable: some objects would have to change what cannot be changed.
	ReasonFieldImmutable = "FieldImmutable"
	// ReasonWebhookFailed: an admission webhook that has to be asked about some objects does not answer.
	ReasonWebhookFailed = "AdmissionWebhookFailed"
	// ReasonNamespaceTerminating: the namespace of some objects is being deleted.
	ReasonNamespaceTerminating = "NamespaceTerminating"
	// ReasonApplyContinues: there is more to apply than one reconcile can do.
	ReasonApplyContinues = "ApplyContinues"
	// ReasonApplyRetried: some objects could not be applied for the moment.
	ReasonApplyRetried = "ApplyRetried"
	// ReasonStoredVersions: an upgrade would remove a version in which custom resources are stored.
	ReasonStoredVersions = "StoredVersions"
	// ReasonHookFailed: a hook of the chart failed.
	ReasonHookFailed = "HookFailed"
	// ReasonHookPending: a hook of the chart is not done yet.
	ReasonHookPending = "HookPending"
	// ReasonMissingAPI: the cluster does not know the kind of some objects.
	ReasonMissingAPI = "MissingAPI"

	// ReasonSkipped: the Manifest has the label to skip reconciliation.
	ReasonSkipped = "Skipped"
	// ReasonUnmanaged: the module is unmanaged.
	ReasonUnmanaged = "Unmanaged"
	// ReasonDeleting: the Manifest is being deleted, or gone.
	ReasonDeleting = "Deleting"
	// ReasonWaitingForModuleCR: the removal waits for the finalizers of the default custom resource.
	ReasonWaitingForModuleCR = "WaitingForModuleCR"
	// ReasonBlockedByModuleCRs: custom resources that users created block the removal.
	ReasonBlockedByModuleCRs = "BlockedByModuleCRs"
	// ReasonWaitingForResources: the removal waits until resources are gone.
	ReasonWaitingForResources = "WaitingForResources"
)

// MessageReady is the message of a module that is ready.
const MessageReady = "module is ready"

// Health is what was read of a module's resources.
type Health struct {
	Total int32
	// pending and failed are the objects that are not ready, as "Kind namespace/name"; failed ones with the reason,
	// since they do not become ready by waiting.
	pending, failed []string
	// missing are the objects that were applied and are gone: they do not come back by waiting.
	missing []string
	// stuck objects have been pending for so long that what their pods report counts as an error.
	stuck []string
}

// Ready is the number of objects that are ready.
func (h Health) Ready() int32 {
	return h.Total - int32(len(h.pending)+len(h.missing)+len(h.failed)+len(h.stuck)) //nolint:gosec // bounded by the inventory
}

// ManagerHealth is what was read of the workload that spec.manager names.
type ManagerHealth struct {
	// named is true when the Manifest names such a workload.
	named bool
	ready bool
	name  string
}

// ModuleCR is what was read of the default custom resource.
type ModuleCR struct {
	// Tracked is true when the module has one and we manage it (CreateAndDelete).
	Tracked bool
	// wanted is true when it was neither created nor found yet, or is to be created again.
	wanted bool
	// Exists is true when it, or one that a user created in its place, exists.
	Exists bool
	State  shared.State
	name   string
}

// Judge decides what a module's status shows. Its resources and its custom resource are judged separately: an error that
// the custom resource reports is shown whatever the state of the resources is; the module is Ready only when both are.
func Judge(h Health, manager ManagerHealth, cr ModuleCR) Observed {
	o := Observed{Ready: h.Ready(), Total: h.Total}
	say := func(state shared.State, reason, format string, args ...any) Observed {
		o.State, o.Reason, o.Message = state, reason, fmt.Sprintf(format, args...)
		return o
	}
	switch {
	case len(h.missing) > 0:
		// This comes first: anything else is reported again once they are back.
		return say(shared.StateProcessing, ReasonResourcesMissing, "gone and to be created again: %s", objects.FirstOf(h.missing))
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
		return say(shared.StateReady, ReasonModuleCRRemoved, "%s was deleted by its user and is not created again", cr.name)
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
		// Deleting is the state of a Manifest under deletion; this module is still installed, and active.
		return say(shared.StateProcessing, ReasonModuleCRDeleting, "%s is being deleted", cr.name)
	default:
		return say(shared.StateProcessing, ReasonModuleCRPending, "waiting for %s to become ready", cr.name)
	}
}

// ResourcesReady tells whether a reason implies that the module's resources are ready.
func ResourcesReady(reason string) bool {
	switch reason {
	case ReasonManagerPending, ReasonModuleCRWanted, ReasonModuleCRPending, ReasonModuleCRDeleting,
		ReasonModuleCRWarning, ReasonModuleCRRemoved, ReasonFieldConflict, ReasonResourcesRecreated, ReasonResourcesTerminating, ReasonReady:
		return true
	}
	return false
}

// Reasons of errors that persist until the Manifest changes.
const (
	// ReasonInvalidSpec: the spec of the Manifest cannot be read.
	ReasonInvalidSpec = "InvalidManifestSpec"
	// ReasonInvalidStateCheck: the checks by which the module's state is read are invalid (fault.Rejected).
	ReasonInvalidStateCheck = "InvalidStateCheck"
	// ReasonDefaultCRInvalid: the cluster refuses the default custom resource: persistently (fault.Rejected) where it does
	// not match its schema, for now (fault.Transient) where a quota, a webhook or a policy does not admit it.
	ReasonDefaultCRInvalid = "DefaultCRInvalid"
)
