package clusters

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// BuiltInKind is what is known of a kind of Kubernetes itself without asking a cluster.
type BuiltInKind struct {
	// Version that every supported API server serves.
	Version    string
	Plural     string
	Namespaced bool
}

// BuiltIn returns what is known of a kind that Kubernetes itself serves, in the groups that modules use.
func BuiltIn(kind schema.GroupKind) (BuiltInKind, bool) {
	k, ok := builtInKind(kind.Group, kind.Kind)
	return k, ok
}

func builtInKind(group, kind string) (BuiltInKind, bool) {
	namespaced := func(version, plural string) (BuiltInKind, bool) {
		return BuiltInKind{Version: version, Plural: plural, Namespaced: true}, true
	}
	cluster := func(plural string) (BuiltInKind, bool) {
		return BuiltInKind{Version: "v1", Plural: plural}, true
	}
	switch group + "/" + kind {
	case "/Namespace":
		return cluster("namespaces")
	case "/Node":
		return cluster("nodes")
	case "/PersistentVolume":
		return cluster("persistentvolumes")
	case "/ConfigMap":
		return namespaced("v1", "configmaps")
	case "/Endpoints":
		return namespaced("v1", "endpoints")
	case "/Event":
		return namespaced("v1", "events")
	case "/LimitRange":
		return namespaced("v1", "limitranges")
	case "/PersistentVolumeClaim":
		return namespaced("v1", "persistentvolumeclaims")
	case "/Pod":
		return namespaced("v1", "pods")
	case "/PodTemplate":
		return namespaced("v1", "podtemplates")
	case "/ReplicationController":
		return namespaced("v1", "replicationcontrollers")
	case "/ResourceQuota":
		return namespaced("v1", "resourcequotas")
	case "/Secret":
		return namespaced("v1", "secrets")
	case "/Service":
		return namespaced("v1", "services")
	case "/ServiceAccount":
		return namespaced("v1", "serviceaccounts")
	case "apps/ControllerRevision":
		return namespaced("v1", "controllerrevisions")
	case "apps/DaemonSet":
		return namespaced("v1", "daemonsets")
	case "apps/Deployment":
		return namespaced("v1", "deployments")
	case "apps/ReplicaSet":
		return namespaced("v1", "replicasets")
	case "apps/StatefulSet":
		return namespaced("v1", "statefulsets")
	case "autoscaling/HorizontalPodAutoscaler":
		return namespaced("v2", "horizontalpodautoscalers")
	case "batch/CronJob":
		return namespaced("v1", "cronjobs")
	case "batch/Job":
		return namespaced("v1", "jobs")
	case "coordination.k8s.io/Lease":
		return namespaced("v1", "leases")
	case "discovery.k8s.io/EndpointSlice":
		return namespaced("v1", "endpointslices")
	case "networking.k8s.io/Ingress":
		return namespaced("v1", "ingresses")
	case "networking.k8s.io/IngressClass":
		return cluster("ingressclasses")
	case "networking.k8s.io/NetworkPolicy":
		return namespaced("v1", "networkpolicies")
	case "policy/PodDisruptionBudget":
		return namespaced("v1", "poddisruptionbudgets")
	case "rbac.authorization.k8s.io/ClusterRole":
		return cluster("clusterroles")
	case "rbac.authorization.k8s.io/ClusterRoleBinding":
		return cluster("clusterrolebindings")
	case "rbac.authorization.k8s.io/Role":
		return namespaced("v1", "roles")
	case "rbac.authorization.k8s.io/RoleBinding":
		return namespaced("v1", "rolebindings")
	case "scheduling.k8s.io/PriorityClass":
		return cluster("priorityclasses")
	case "storage.k8s.io/StorageClass":
		return cluster("storageclasses")
	case "storage.k8s.io/CSIDriver":
		return cluster("csidrivers")
	case "node.k8s.io/RuntimeClass":
		return cluster("runtimeclasses")
	case "admissionregistration.k8s.io/MutatingWebhookConfiguration":
		return cluster("mutatingwebhookconfigurations")
	case "admissionregistration.k8s.io/ValidatingWebhookConfiguration":
		return cluster("validatingwebhookconfigurations")
	case "admissionregistration.k8s.io/ValidatingAdmissionPolicy":
		return cluster("validatingadmissionpolicies")
	case "admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding":
		return cluster("validatingadmissionpolicybindings")
	case "apiextensions.k8s.io/CustomResourceDefinition":
		return cluster("customresourcedefinitions")
	case "apiregistration.k8s.io/APIService":
		return cluster("apiservices")
	case "certificates.k8s.io/CertificateSigningRequest":
		return cluster("certificatesigningrequests")
	}
	return BuiltInKind{}, false
}

// ownPlural is the plural of a kind that we bring into clusters ourselves, in the version that we work with. All of
// them are namespaced.
func ownPlural(gvk schema.GroupVersionKind) (string, bool) {
	if gvk.GroupVersion() != v1beta2.GroupVersion {
		return "", false
	}
	switch gvk.Kind {
	case shared.KindKyma:
		return "kymas", true
	case shared.KindModuleTemplate:
		return "moduletemplates", true
	case shared.KindModuleReleaseMeta:
		return "modulereleasemetas", true
	}
	return "", false
}
