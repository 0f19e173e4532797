package shared

// ConditionType is the type of a condition in a status.
type ConditionType string

// Conditions of a Kyma. All have the reason ReasonReady.
const (
	// ConditionModules says whether all modules are Ready. Always present.
	ConditionModules ConditionType = "Modules"
	// ConditionModuleCatalog says whether the remote catalog is as allowed.
	// Present where the catalog is on.
	ConditionModuleCatalog ConditionType = "ModuleCatalog"
	// ConditionCRDsSync says whether our CRDs in the remote cluster are ours.
	// Present for remote Kymas.
	ConditionCRDsSync ConditionType = "CRDsSync"
	// ConditionSKRWebhook says whether the remote agent is set up. Present
	// where the watcher is on.
	ConditionSKRWebhook ConditionType = "SKRWebhook"
	// ConditionSKRImagePullSecretSync says whether the image pull Secret is in
	// the remote cluster. Present where one is configured.
	ConditionSKRImagePullSecretSync ConditionType = "SKRImagePullSecretSync"
)

// ConditionRemoteKymaDecides is True while channel or modules of the control
// plane's Kyma were edited without effect, because the remote Kyma decides, and
// not there otherwise. Its reason is ReasonEditIgnored.
const ConditionRemoteKymaDecides ConditionType = "RemoteKymaDecides"

// Conditions of a Manifest.
const (
	// ConditionResources has the reason ReasonResourcesAvailable.
	ConditionResources ConditionType = "Resources"
	// ConditionInstallation has the reason ReasonReady.
	ConditionInstallation ConditionType = "Installation"
	// ConditionModuleCR has the reason ReasonModuleCRCreated; present only
	// with a default CR under the policy CreateAndDelete.
	ConditionModuleCR ConditionType = "ModuleCR"
)

// ConditionVirtualService is the condition of a Watcher; reason ReasonReady.
const ConditionVirtualService ConditionType = "VirtualService"

// Reasons of conditions.
const (
	ReasonReady              = "Ready"
	ReasonResourcesAvailable = "ResourcesAvailable"
	ReasonModuleCRCreated    = "ModuleCRCreated"
	ReasonEditIgnored        = "EditIgnored"
)

// ConditionMessage returns the message of a Kyma's condition for True and
// False, and "" for a type that a Kyma does not have.
func ConditionMessage(condition ConditionType, isTrue bool) string {
	switch condition {
	case ConditionModules:
		return choose(isTrue, "all modules are in ready state", "not all modules are in ready state")
	case ConditionModuleCatalog:
		return choose(isTrue, "module templates are synchronized",
			"module templates are out of sync and need to be resynchronized")
	case ConditionCRDsSync:
		return choose(isTrue, "CRDs are synchronized to the SKR", "CRDs are not synchronized to the SKR")
	case ConditionSKRWebhook:
		return choose(isTrue, "skrwebhook is synchronized",
			"skrwebhook is out of sync and needs to be resynchronized")
	case ConditionSKRImagePullSecretSync:
		return choose(isTrue, "skr image pull secret is synchronized",
			"skr image pull secret is out of sync and needs to be resynchronized")
	default:
		return ""
	}
}

func choose(isTrue bool, whenTrue, whenFalse string) string {
	if isTrue {
		return whenTrue
	}
	return whenFalse
}
