package shared

// ConditionType is the type of a condition in a status.
type ConditionType string

// Conditions of a Kyma. All have the reason ReasonReady.
const (
	// ConditionModules is True if all modules are Ready. It is always present.
	ConditionModules ConditionType = "Modules"
	// ConditionModuleCatalog is True if the remote catalog has what the Kyma may
	// use. It is present if the catalog is on.
	ConditionModuleCatalog ConditionType = "ModuleCatalog"
	// ConditionCRDsSync is True if the remote cluster has our CRDs. It is present
	// for remote Kymas.
	ConditionCRDsSync ConditionType = "CRDsSync"
	// ConditionSKRWebhook is True if the remote agent is set up. It is present if
	// the watcher is on.
	ConditionSKRWebhook ConditionType = "SKRWebhook"
	// ConditionSKRImagePullSecretSync is True if the image pull Secret is in the
	// remote cluster. It is present if an image pull Secret is configured.
	ConditionSKRImagePullSecretSync ConditionType = "SKRImagePullSecretSync"
)

// ConditionRemoteKymaDecides is True while an edit of the channel or the modules
// of the control plane's Kyma has no effect, because the remote Kyma decides.
// Otherwise it is absent. Its reason is ReasonEditIgnored.
const ConditionRemoteKymaDecides ConditionType = "RemoteKymaDecides"

// Conditions of a Manifest.
const (
	// ConditionResources has the reason ReasonResourcesAvailable.
	ConditionResources ConditionType = "Resources"
	// ConditionInstallation has the reason ReasonReady.
	ConditionInstallation ConditionType = "Installation"
	// ConditionModuleCR has the reason ReasonModuleCRCreated. It is only present
	// if the module has a default custom resource and the policy CreateAndDelete.
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

// ConditionMessage returns the message of a Kyma's condition for True or False.
// It returns "" for a type that a Kyma does not have.
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
