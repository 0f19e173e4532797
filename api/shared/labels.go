package shared

// Labels with the prefix of the API group.
const (
	// LabelKymaName is the name of the Kyma that an access Secret, a Manifest or
	// a certificate belongs to.
	LabelKymaName = OperatorGroup + "/kyma-name"
	// LabelModuleName is the module's name on a Manifest. A Kyma may also refer
	// to a ModuleTemplate by this label.
	LabelModuleName = OperatorGroup + "/module-name"
	// LabelChannel is the channel of a Manifest's module. Manifests of mandatory
	// modules do not have it.
	LabelChannel = OperatorGroup + "/channel"
	// LabelControllerName names the controller that serves a ModuleTemplate. A
	// plan copies it to the Manifests.
	LabelControllerName = OperatorGroup + "/controller-name"
	// LabelMandatoryModule marks the Manifest of a mandatory module ("true").
	LabelMandatoryModule = OperatorGroup + "/mandatory-module"
	// LabelManagedBy is ManagedByLifecycleManager, or the instance's own name, on
	// control plane resources. It is ManagedByKyma on our CRDs and on everything
	// that we create in a remote cluster, including namespaces.
	LabelManagedBy = OperatorGroup + "/managed-by"
	// LabelWatchedBy is WatchedByKyma on the objects that the remote agent
	// watches: the remote Kyma and the module's custom resource.
	LabelWatchedBy = OperatorGroup + "/watched-by"
	// LabelSkipReconciliation with ValueTrue makes Lifecycle Manager ignore a
	// Kyma or a Manifest. The deletion of a Kyma continues regardless. Lifecycle
	// Manager removes a Manifest with this label only together with its Kyma.
	LabelSkipReconciliation = OperatorGroup + "/skip-reconciliation"
	// LabelInternal with ValueTrue permits internal modules on a Kyma. On a
	// ModuleTemplate it restricts the module to these Kymas.
	LabelInternal = OperatorGroup + "/internal"
	// LabelBeta with ValueTrue permits beta modules on a Kyma. On a
	// ModuleTemplate it restricts the module to these Kymas.
	LabelBeta = OperatorGroup + "/beta"
	// LabelSignature marks the Secret with a public key (data key
	// SignatureSecretKey). Its value is the name of the signature.
	LabelSignature = OperatorGroup + "/signature"
	// LabelPurpose is the purpose of a resource.
	LabelPurpose = OperatorGroup + "/purpose"
)

// Labels of the runtime that a Kyma describes. Maintenance windows and metrics
// use them, and they map an agent's certificate to a Kyma.
const (
	LabelGlobalAccountID = "kyma-project.io/global-account-id"
	LabelSubAccountID    = "kyma-project.io/subaccount-id"
	LabelRegion          = "kyma-project.io/region"
	LabelPlatformRegion  = "kyma-project.io/platform-region"
	LabelBrokerPlanName  = "kyma-project.io/broker-plan-name"
	LabelRuntimeID       = "kyma-project.io/runtime-id"
	LabelInstanceID      = "kyma-project.io/instance-id"
)

// Labels of module resources in a remote cluster, in addition to LabelManagedBy.
const (
	// LabelComponent is the name of the Manifest.
	LabelComponent = "app.kubernetes.io/component"
	// LabelPartOf is PartOfKyma.
	LabelPartOf = "app.kubernetes.io/part-of"
)

// Labels of the remote namespace that we create. Both are ValueEnabled.
const (
	LabelIstioInjection = "istio-injection"
	LabelWardenValidate = "namespaces.warden.kyma-project.io/validate"
)

// Values of the labels above.
const (
	ValueTrue    = "true"
	ValueEnabled = "enabled"

	// ManagedByLifecycleManager is the value of LabelManagedBy in the control
	// plane for the default instance.
	ManagedByLifecycleManager = "lifecycle-manager"
	// ManagedByKyma is the value of LabelManagedBy in remote clusters.
	ManagedByKyma = "kyma"
	// WatchedByKyma is the value of LabelWatchedBy.
	WatchedByKyma = "kyma"
	// PartOfKyma is the value of LabelPartOf.
	PartOfKyma = "Kyma"
)

// Data keys of the Secrets that the labels above mark.
const (
	// AccessSecretKey is the key of the kubeconfig in an access Secret
	// (LabelKymaName).
	AccessSecretKey = "config"
	// SignatureSecretKey is the key of the public key in a Secret with
	// LabelSignature.
	SignatureSecretKey = "key"
)
