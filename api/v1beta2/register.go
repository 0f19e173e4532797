package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// GroupVersion is the group and version of this package's kinds.
var GroupVersion = schema.GroupVersion{Group: shared.OperatorGroup, Version: shared.VersionV1Beta2}

// AddToScheme registers this package's kinds with the scheme. It always returns
// nil; the error only serves to match the signature of runtime.SchemeBuilder.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&Kyma{}, &KymaList{},
		&ModuleTemplate{}, &ModuleTemplateList{},
		&ModuleReleaseMeta{}, &ModuleReleaseMetaList{},
		&Manifest{}, &ManifestList{},
		&Watcher{}, &WatcherList{},
		&RolloutPolicy{}, &RolloutPolicyList{},
		&ModuleRollout{}, &ModuleRolloutList{},
		&RemovalBudget{}, &RemovalBudgetList{},
		&RemoteAgent{}, &RemoteAgentList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
