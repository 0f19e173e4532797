package readiness

import (
	"fmt"

	"github.com/kyma-project/lifecycle-manager/activities/objects"
	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// Reasons in Observed and in conditions.
const (
	// ReasonInstalling: everything was applied just now, nothing has been looked at since.
	ReasonInstalling = "Installing"
	// ReasonResourcesPending: some of the module's resources are not ready yet.
	ReasonResourcesPending = "ResourcesPending"
	// ReasonResourcesMissing: some of them were applied and are no longer there, so that another look is needed.
	ReasonResourcesMissing = "ResourcesMissing"
	// ReasonResourcesFailed: some of them cannot become ready by waiting.
	ReasonResourcesFailed = "ResourcesFailed"
	// ReasonWorkloadStuck: the pods of some of them cannot run, for longer than is waited for.
	ReasonWorkloadStuck = "WorkloadStuck"
	// ReasonManagerPending: the workload that spec.manager names is not ready yet.
	ReasonManagerPending = "ManagerPending"
	// ReasonModuleCRWanted: the default custom resource is to be made.
	ReasonModuleCRWanted = "ModuleCRWanted"
	// ReasonModuleCRPending: the module's custom resource says Processing, or nothing.
	ReasonModuleCRPending = "ModuleCRPending"
	// ReasonModuleCRDeleting: the module's custom resource is being deleted, but the module is not.
	ReasonModuleCRDeleting = "ModuleCRDeleting"
	ReasonModuleCRError    = "ModuleCRError"
	ReasonModuleCRWarning  = "ModuleCRWarning"
	// ReasonModuleCRRemoved: its user deleted the default custom resource, and it stays deleted.
	ReasonModuleCRRemoved = "ModuleCRRemoved"
	// ReasonDisputed: the module is ready, but somebody keeps changing one of its objects.
	ReasonFieldConflict = "Disputed"
	// ReasonReady: the module is ready.
	ReasonReady = shared.ReasonReady

	// ReasonApplyFailed: the cluster refused some objects.
	ReasonApplyFailed = "ApplyFailed"
	// ReasonApplyGoesOn: there is more to apply than one look can do.
	ReasonApplyGoesOn = "ApplyGoesOn"
	// ReasonApplyRetried: some objects could not be applied for the moment.
	ReasonApplyRetried = "ApplyRetried"
	// ReasonStoredVersions: an upgrade would take away a version in which custom resources are stored.
	ReasonStoredVersions = "StoredVersions"
	// ReasonHookFailed: a hook of the chart failed.
	ReasonHookFailed = "HookFailed"
	// ReasonHookPending: a hook of the chart is not done yet.
	ReasonHookPending = "HookPending"
	// ReasonMissingAPI: the cluster does not know the kind of some objects.
	ReasonMissingAPI = "MissingAPI"

	// ReasonSkipped: the Manifest is to be left alone.
	ReasonSkipped = "Skipped"
	// ReasonUnmanaged: the module was taken out of our hands.
	ReasonUnmanaged = "Unmanaged"
	// ReasonDeleting: the Manifest is being deleted, or gone.
	ReasonDeleting = "Deleting"
	// ReasonWaitingForModuleCR: the removal waits for the default custom resource's finalizers.
	ReasonWaitingForModuleCR = "WaitingForModuleCR"
	// ReasonBlockedByModuleCRs: custom resources that users made block the removal.
	ReasonBlockedByModuleCRs = "BlockedByModuleCRs"
	// ReasonWaitingForResources: the removal waits for resources to go.
	ReasonWaitingForResources = "WaitingForResources"
)

// Health is what is seen of a module's resources.
type Health struct {
	Total int32
	// pending and failed are the objects that are not ready, as "Kind namespace/name"; failed ones with
	// the reason, since they do not become ready by waiting.
	pending, failed []string
	// missing are the objects that were applied and are gone: no waiting brings them back.
	missing []string
	// stuck ones are pending for so long that what their pods say counts as an error.
	stuck []string
}

func (h Health) Ready() int32 {
	return h.Total - int32(len(h.pending)+len(h.missing)+len(h.failed)+len(h.stuck)) //nolint:gosec // bounded by the inventory
}

// ManagerHealth is what is seen of the workload that spec.manager names.
type ManagerHealth struct {
	// named is true when the Manifest names one.
	named bool
	ready bool
	name  string
}

// ModuleCR is what is seen of the default custom resource.
type ModuleCR struct {
	// tracked is true when the module has one and we are to care for it (CreateAndDelete).
	Tracked bool
	// wanted is true when it was neither made nor looked for yet, or is to be made again.
	wanted bool
	// exists is true when it, or one that its user made in its place, is there.
	Exists bool
	State  shared.State
	name   string
}

// Judge says of a module what its status shows. The resources and what the module says of itself are two
// things: an error that the module reports is shown whatever its resources do; Ready it is only when both are.
func Judge(h Health, manager ManagerHealth, cr ModuleCR) Observed {
	o := Observed{Ready: h.Ready(), Total: h.Total}
	say := func(state shared.State, reason, format string, args ...any) Observed {
		o.State, o.Reason, o.Message = state, reason, fmt.Sprintf(format, args...)
		return o
	}
	switch {
	case len(h.missing) > 0:
		// First of all: whatever else there is to say, it is said again once they are back.
		return say(shared.StateProcessing, ReasonResourcesMissing, "gone and to be made again: %s", objects.FirstOf(h.missing))
	case len(h.failed) > 0:
		return say(shared.StateError, ReasonResourcesFailed, "%d of %d resources failed: %s", len(h.failed), h.Total, objects.FirstOf(h.failed))
	case len(h.stuck) > 0:
		return say(shared.StateError, ReasonWorkloadStuck, "%d of %d resources do not start: %s", len(h.stuck), h.Total, objects.FirstOf(h.stuck))
	case cr.Exists && cr.State == shared.StateError:
		return say(shared.StateError, ReasonModuleCRError, "%s reports Error", cr.name)
	case len(h.pending) > 0:
		return say(shared.StateProcessing, ReasonResourcesPending, "waiting for %s to become ready", objects.FirstOf(h.pending))
	case manager.named && !manager.ready:
		return say(shared.StateProcessing, ReasonManagerPending, "waiting for the module's manager %s to become ready", manager.name)
	case cr.Tracked && cr.wanted:
		o.DefaultCRWanted = true
		return say(shared.StateProcessing, ReasonModuleCRWanted, "making %s", cr.name)
	case cr.Tracked && !cr.Exists:
		return say(shared.StateReady, ReasonModuleCRRemoved, "%s was deleted by its user and is not made again", cr.name)
	case cr.Exists:
		return judgeCR(cr, say)
	default:
		return say(shared.StateReady, ReasonReady, "module is ready")
	}
}

func judgeCR(cr ModuleCR, say func(shared.State, string, string, ...any) Observed) Observed {
	switch cr.State {
	case shared.StateReady:
		return say(shared.StateReady, ReasonReady, "module is ready")
	case shared.StateWarning:
		return say(shared.StateWarning, ReasonModuleCRWarning, "%s reports Warning", cr.name)
	case shared.StateDeleting:
		// Deleting is what a Manifest is; a module whose custom resource goes is at work.
		return say(shared.StateProcessing, ReasonModuleCRDeleting, "%s is being deleted", cr.name)
	default:
		return say(shared.StateProcessing, ReasonModuleCRPending, "waiting for %s to become ready", cr.name)
	}
}

// ResourcesReady tells whether a reason can only be reached when the module's resources are ready.
func ResourcesReady(reason string) bool {
	switch reason {
	case ReasonManagerPending, ReasonModuleCRWanted, ReasonModuleCRPending, ReasonModuleCRDeleting,
		ReasonModuleCRWarning, ReasonModuleCRRemoved, ReasonFieldConflict, ReasonReady:
		return true
	}
	return false
}

// Reasons of what cannot succeed without a change of the Manifest.
const (
	// ReasonInvalidSpec: the Manifest itself cannot be worked with.
	ReasonInvalidSpec = "InvalidManifestSpec"
	// ReasonInvalidStateCheck: where the module says that its state is cannot be read (fault.Rejected).
	ReasonInvalidStateCheck = "InvalidStateCheck"
	// ReasonDefaultCRInvalid: the cluster refuses the default custom resource: for good (fault.Rejected) where it does
	// not fit its kind, for now (fault.Transient) where a quota, a webhook or a policy does not admit it.
	ReasonDefaultCRInvalid = "DefaultCRInvalid"
)
