package shared

// Labels with the prefix of the API group.
const (
	// LabelKymaName names the Kyma that an access Secret, a Manifest or a
	// certificate belongs to.
	LabelKymaName = OperatorGroup + "/kyma-name"
	// LabelModuleName is the module's name on a Manifest. On a ModuleTemplate
	// it is one of the ways to be referenced by a Kyma.
	LabelModuleName = OperatorGroup + "/module-name"
	// LabelChannel is the channel of a Manifest's module; mandatory modules
	// do not have it.
	LabelChannel = OperatorGroup + "/channel"
	// LabelControllerName names the controller that serves a ModuleTemplate,
	// and is copied to the Manifests made from it.
	LabelControllerName = OperatorGroup + "/controller-name"
	// LabelMandatoryModule marks the Manifest of a mandatory module ("true").
	LabelMandatoryModule = OperatorGroup + "/mandatory-module"
	// LabelManagedBy is ManagedByLifecycleManager (or the instance's own name)
	// on control plane resources, and ManagedByKyma on what we bring into a
	// remote cluster, namespaces included, and on our CRDs.
	LabelManagedBy = OperatorGroup + "/managed-by"
	// LabelWatchedBy is WatchedByKyma on what the remote agent watches: the
	// remote Kyma and the module's custom resource.
	LabelWatchedBy = OperatorGroup + "/watched-by"
	// LabelSkipReconciliation with ValueTrue on a Kyma or a Manifest makes
	// Lifecycle Manager ignore it. A Kyma's deletion goes on regardless;
	// a Manifest that has it is removed only together with its Kyma.
	LabelSkipReconciliation = OperatorGroup + "/skip-reconciliation"
	// LabelInternal with ValueTrue permits internal modules on a Kyma, and
	// restricts a ModuleTemplate to such Kymas.
	LabelInternal = OperatorGroup + "/internal"
	// LabelBeta with ValueTrue permits beta modules on a Kyma, and restricts
	// a ModuleTemplate to such Kymas.
	LabelBeta = OperatorGroup + "/beta"
	// LabelSignature is on the Secret with the public key (data key
	// SignatureKeyDataKey); its value is the signature's name.
	LabelSignature = OperatorGroup + "/signature"
	// LabelPurpose says what a resource is for.
	LabelPurpose = OperatorGroup + "/purpose"
)

// Labels of the runtime that a Kyma describes: inputs for maintenance windows
// and metrics, and the mapping from an agent's certificate to a Kyma.
const (
	LabelGlobalAccountID = "kyma-project.io/global-account-id"
	LabelSubAccountID    = "kyma-project.io/subaccount-id"
	LabelRegion          = "kyma-project.io/region"
	LabelPlatformRegion  = "kyma-project.io/platform-region"
	LabelBrokerPlanName  = "kyma-project.io/broker-plan-name"
	LabelRuntimeID       = "kyma-project.io/runtime-id"
	LabelInstanceID      = "kyma-project.io/instance-id"
)

// Labels of module resources in a remote cluster beside LabelManagedBy.
const (
	// LabelComponent has the name of the Manifest as value.
	LabelComponent = "app.kubernetes.io/component"
	// LabelPartOf has PartOfKyma as value.
	LabelPartOf = "app.kubernetes.io/part-of"
)

// Labels of the remote namespace that we create; both with ValueEnabled.
const (
	LabelIstioInjection = "istio-injection"
	LabelWardenValidate = "namespaces.warden.kyma-project.io/validate"
)

// Values of the labels above.
const (
	ValueTrue    = "true"
	ValueEnabled = "enabled"

	// ManagedByLifecycleManager is the default instance's value of
	// LabelManagedBy in the control plane.
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
	// AccessSecretKey has the kubeconfig in an access Secret (LabelKymaName).
	AccessSecretKey = "config"
	// SignatureSecretKey has the public key in a Secret with LabelSignature.
	SignatureSecretKey = "key"
)
