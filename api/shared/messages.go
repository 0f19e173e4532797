package shared

import (
	"fmt"
	"time"
)

// Values of `status.lastOperation.operation` of a Kyma; an error's text is the
// other possibility.
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

	// MessageTemplateUpdateNotAllowed precedes the reason why an update of an
	// installed module was refused.
	MessageTemplateUpdateNotAllowed = "module template update not allowed"
	// MessageTemplateNotAllowed precedes the reason why a module may not be
	// installed for this Kyma.
	MessageTemplateNotAllowed = "module template not allowed"

	MessageInternalModule   = "internal module"
	MessageBetaModule       = "beta module"
	MessageRestrictedModule = "restricted module not allowed for this Kyma"
	// MessageSelectorNotRestricted: the release meta selects Kymas, but the
	// instance does not know that the module is restricted.
	MessageSelectorNotRestricted = "module has kymaSelector but is not in restricted modules list"
)

// ModuleTemplateNotFound is the message for a version whose ModuleTemplate, which has
// this name by convention, is missing.
func ModuleTemplateNotFound(name string) string {
	return fmt.Sprintf("failed to get module template: %s.%s %q not found", KindModuleTemplate, OperatorGroup, name)
}

// NoVersionsForChannel is the message for a module that has no version in the
// wanted channel.
func NoVersionsForChannel(channel, module string) string {
	return fmt.Sprintf("no versions found for channel: %s in module %s", channel, module)
}

// IgnoredChannelSkew is the message for a refused downgrade; installed is the
// higher version that is there.
func IgnoredChannelSkew(fromChannel, toChannel, installed string) string {
	return fmt.Sprintf("%s: ignore channel skew (from %s to %s), as a higher version (%s) of the module was previously installed",
		MessageTemplateUpdateNotAllowed, fromChannel, toChannel, installed)
}

// ModuleNotAllowed is the message for a module that this Kyma may not have;
// reason is MessageInternalModule, MessageBetaModule, MessageRestrictedModule or
// MessageSelectorNotRestricted.
func ModuleNotAllowed(reason string) string {
	return MessageTemplateNotAllowed + ": " + reason
}

// LastKnownState is the message of a module whose cluster cannot be reached. It
// does not say why: the Kyma's status says that once, and the reason may change
// while nobody knows more about the module.
func LastKnownState(state State, since time.Time) string {
	return "last known state " + string(state) + ": the cluster cannot be reached since " + since.UTC().Format(time.RFC3339)
}

// OtherFinalizersPresent is the message while finalizers of others block
// a resource that we are to remove.
func OtherFinalizersPresent(finalizers []string) string {
	return fmt.Sprintf("waiting as other finalizers are present: %v", finalizers)
}
