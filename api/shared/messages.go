package shared

import (
	"fmt"
	"time"
)

// Values of `status.lastOperation.operation` of a Kyma. Otherwise the operation
// is the text of an error.
const (
	OperationKymaReady         = "kyma is ready"
	OperationWaitingForModules = "waiting for all modules to become ready"
	OperationStartedProcessing = "started processing"
	OperationWaitingForRemoval = "waiting for modules to be deleted"
	OperationSkipped           = "reconciliation is skipped, for it has the label " + LabelSkipReconciliation
)

// Messages that users and their tools search for.
const (
	MessageNoModuleReleaseMeta         = "no ModuleReleaseMeta found"
	MessageWaitingForMaintenanceWindow = "waiting for next maintenance window to update module version"
	MessageAccessSecretNotFound        = "access secret not found"
	MessageWaitingForModuleCRsDeletion = "waiting for module crs deletion"

	// MessageTemplateUpdateNotAllowed precedes the reason why an upgrade of an
	// installed module is refused.
	MessageTemplateUpdateNotAllowed = "module template update not allowed"
	// MessageTemplateNotAllowed precedes the reason why this Kyma may not have a
	// module.
	MessageTemplateNotAllowed = "module template not allowed"

	MessageInternalModule   = "internal module"
	MessageBetaModule       = "beta module"
	MessageRestrictedModule = "restricted module not allowed for this Kyma"
	// MessageSelectorNotRestricted means that the release meta has a
	// kymaSelector, but the instance's settings do not list the module as
	// restricted.
	MessageSelectorNotRestricted = "module has kymaSelector but is not in restricted modules list"
)

// ModuleTemplateNotFound returns the message for a version without a
// ModuleTemplate. By convention, the ModuleTemplate has this name.
func ModuleTemplateNotFound(name string) string {
	return fmt.Sprintf("failed to get module template: %s.%s %q not found", KindModuleTemplate, OperatorGroup, name)
}

// NoVersionsForChannel returns the message for a module without a version in the
// channel.
func NoVersionsForChannel(channel, module string) string {
	return fmt.Sprintf("no versions found for channel: %s in module %s", channel, module)
}

// IgnoredChannelSkew returns the message for a refused downgrade. installed is
// the higher version in the cluster.
func IgnoredChannelSkew(fromChannel, toChannel, installed string) string {
	return fmt.Sprintf("%s: ignore channel skew (from %s to %s), as a higher version (%s) of the module was previously installed",
		MessageTemplateUpdateNotAllowed, fromChannel, toChannel, installed)
}

// ModuleNotAllowed returns the message for a module that this Kyma may not have.
// reason is MessageInternalModule, MessageBetaModule, MessageRestrictedModule or
// MessageSelectorNotRestricted.
func ModuleNotAllowed(reason string) string {
	return MessageTemplateNotAllowed + ": " + reason
}

// LastKnownState returns the message for a module in an unreachable cluster. It
// does not say why the cluster is unreachable. The Kyma's status says so once,
// and the reason may change while nothing new is known about the module.
func LastKnownState(state State, since time.Time) string {
	return "last known state " + string(state) + ": the cluster cannot be reached since " + since.UTC().Format(time.RFC3339)
}

// OtherFinalizersPresent returns the message for a resource that is being removed
// while other finalizers block it.
func OtherFinalizersPresent(finalizers []string) string {
	return fmt.Sprintf("waiting as other finalizers are present: %v", finalizers)
}
