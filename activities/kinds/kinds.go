package kinds

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/reserved"
	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// IsBuiltIn tells whether Kubernetes itself serves a kind. A group of Kubernetes that is not in the table
// counts as built in only by its name: such objects are configuration and no custom resources.
func IsBuiltIn(kind schema.GroupKind) bool {
	_, known := clusters.BuiltIn(kind)
	return known
}

func IsJob(kind schema.GroupKind) bool {
	return kind == schema.GroupKind{Group: groupBatch, Kind: Job}
}

// RunsToCompletion tells of which kinds a hook is something that runs to an end; of others, making it is all.
func RunsToCompletion(kind schema.GroupKind) bool {
	return kind == schema.GroupKind{Group: groupBatch, Kind: Job} || kind == schema.GroupKind{Kind: Pod}
}

func PodSpecPath(kind schema.GroupKind) ([]string, bool) {
	switch kind {
	case schema.GroupKind{Kind: Pod}:
		return []string{PathSpec}, true
	case schema.GroupKind{Group: groupBatch, Kind: "CronJob"}:
		return []string{PathSpec, "jobTemplate", PathSpec, "template", PathSpec}, true
	case schema.GroupKind{Group: GroupApps, Kind: Deployment},
		schema.GroupKind{Group: GroupApps, Kind: StatefulSet},
		schema.GroupKind{Group: GroupApps, Kind: "DaemonSet"},
		schema.GroupKind{Group: GroupApps, Kind: ReplicaSet},
		schema.GroupKind{Group: groupBatch, Kind: Job}:
		return []string{PathSpec, "template", PathSpec}, true
	}
	return nil, false
}

// Usual are the built-in kinds that modules are made of.
func Usual() []schema.GroupVersionKind {
	var all []schema.GroupVersionKind
	for group, kinds := range map[string][]string{
		"": {
			Namespace, "ConfigMap", "Secret", "Service", "ServiceAccount", "PersistentVolumeClaim", "LimitRange", "ResourceQuota",
			Pod, "ReplicationController",
		},
		GroupApps:        {Deployment, StatefulSet, "DaemonSet", ReplicaSet},
		groupBatch:       {Job, "CronJob"},
		GroupAutoscaling: {HorizontalPodAutoscaler},
		GroupExtensions:  {CRD},
		GroupAdmission: {
			"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
		},
		GroupAggregation:            {"APIService"},
		"policy":                    {"PodDisruptionBudget"},
		"networking.k8s.io":         {"NetworkPolicy", "Ingress", "IngressClass"},
		"rbac.authorization.k8s.io": {"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"},
		"scheduling.k8s.io":         {"PriorityClass"},
		"storage.k8s.io":            {"StorageClass"},
	} {
		for _, kind := range kinds {
			if builtIn, ok := clusters.BuiltIn(schema.GroupKind{Group: group, Kind: kind}); ok {
				all = append(all, schema.GroupVersionKind{Group: group, Version: builtIn.Version, Kind: kind})
			}
		}
	}
	return all
}

// ExistenceOnly tells for which kinds being there is all that is to be seen.
func ExistenceOnly(gvk schema.GroupVersionKind) bool {
	return gvk.GroupKind() == schema.GroupKind{Group: GroupExtensions, Kind: CRD}
}

// IsProtected names what no module's removal deletes, and no module makes its own, whatever marks it carries.
func IsProtected(gvk schema.GroupVersionKind, name types.NamespacedName) bool {
	if reserved.Object(gvk.GroupKind(), name) != "" {
		return true
	}
	if !IsShared(gvk.GroupKind()) {
		return false
	}
	switch name.Name {
	case shared.NamespaceRemote, shared.NamespaceControlPlane, shared.NamespaceKubeSystem, "default", "kube-public", "kube-node-lease":
		return true
	}
	return false
}

// IsShared tells of which kind several modules may have the same object: the one that made it keeps the mark.
func IsShared(kind schema.GroupKind) bool { return kind == schema.GroupKind{Kind: Namespace} }

// RunsPods tells of which kinds a workload that is not ready has pods that know why.
func RunsPods(kind schema.GroupKind) bool {
	switch kind {
	case schema.GroupKind{Group: GroupApps, Kind: Deployment},
		schema.GroupKind{Group: GroupApps, Kind: StatefulSet},
		schema.GroupKind{Group: GroupApps, Kind: "DaemonSet"},
		schema.GroupKind{Group: GroupApps, Kind: ReplicaSet},
		schema.GroupKind{Group: groupBatch, Kind: Job},
		schema.GroupKind{Kind: Pod}:
		return true
	}
	return false
}

func DefinitionKind() schema.GroupKind {
	return schema.GroupKind{Group: GroupExtensions, Kind: CRD}
}
