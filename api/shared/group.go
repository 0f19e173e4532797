package shared

// OperatorGroup is the API group of all custom resources of Lifecycle Manager,
// and the prefix of most labels and annotations.
const OperatorGroup = "operator.kyma-project.io"

// Versions of the API group. VersionV1Beta2 is the stored version. The API server
// serves the others with the same schema.
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

// Plural resource names of the kinds, for URLs and RBAC rules.
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
