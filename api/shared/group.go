package shared

// OperatorGroup is the API group of all custom resources of Lifecycle Manager,
// and the prefix of most of their labels and annotations.
const OperatorGroup = "operator.kyma-project.io"

// Versions of the API group. The version that is stored is VersionV1Beta2;
// the others are served with the same schema.
const (
	VersionV1Alpha1 = "v1alpha1"
	VersionV1Beta1  = "v1beta1"
	VersionV1Beta2  = "v1beta2"
)

// Kinds of the API group.
const (
	KindKyma              = "Kyma"
	KindModuleTemplate    = "ModuleTemplate"
	KindModuleReleaseMeta = "ModuleReleaseMeta"
	KindManifest          = "Manifest"
	KindWatcher           = "Watcher"
	KindRolloutPolicy     = "RolloutPolicy"
	KindModuleRollout     = "ModuleRollout"
	KindRemovalBudget     = "RemovalBudget"
	KindRemoteAgent       = "RemoteAgent"
)

// Plural resource names of the kinds, as in URLs and RBAC rules.
const (
	ResourceKymas              = "kymas"
	ResourceModuleTemplates    = "moduletemplates"
	ResourceModuleReleaseMetas = "modulereleasemetas"
	ResourceManifests          = "manifests"
	ResourceWatchers           = "watchers"
	ResourceRolloutPolicies    = "rolloutpolicies"
	ResourceModuleRollouts     = "modulerollouts"
	ResourceRemovalBudgets     = "removalbudgets"
	ResourceRemoteAgents       = "remoteagents"
)
