package kinds

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// BuiltInKind describes a kind of Kubernetes itself. It is known without asking a cluster.
type BuiltInKind struct {
	// Version is served by every supported API server.
	Version    string
	Plural     string
	Namespaced bool
}

// BuiltIn returns the BuiltInKind of a kind that Kubernetes itself serves, in the groups that modules use.
func BuiltIn(kind schema.GroupKind) (BuiltInKind, bool) {
	known := BuiltInKind{Version: "v1", Namespaced: true}
	switch kind.Group + "/" + kind.Kind {
	case "/Namespace", "/Node", "/PersistentVolume", "networking.k8s.io/IngressClass", "rbac.authorization.k8s.io/ClusterRole",
		"rbac.authorization.k8s.io/ClusterRoleBinding", "scheduling.k8s.io/PriorityClass", "storage.k8s.io/StorageClass",
		"storage.k8s.io/CSIDriver", "node.k8s.io/RuntimeClass", "admissionregistration.k8s.io/MutatingWebhookConfiguration",
		"admissionregistration.k8s.io/ValidatingWebhookConfiguration",
		"admissionregistration.k8s.io/ValidatingAdmissionPolicy",
		"admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding", "apiextensions.k8s.io/CustomResourceDefinition",
		"apiregistration.k8s.io/APIService", "certificates.k8s.io/CertificateSigningRequest":
		known.Namespaced = false
	case "autoscaling/HorizontalPodAutoscaler":
		known.Version = "v2"
	case "/ConfigMap", "/Endpoints", "/Event", "/LimitRange", "/PersistentVolumeClaim", "/Pod", "/PodTemplate",
		"/ReplicationController", "/ResourceQuota", "/Secret", "/Service", "/ServiceAccount", "apps/ControllerRevision",
		"apps/DaemonSet", "apps/Deployment", "apps/ReplicaSet", "apps/StatefulSet", "batch/CronJob", "batch/Job",
		"coordination.k8s.io/Lease", "discovery.k8s.io/EndpointSlice", "networking.k8s.io/Ingress",
		"networking.k8s.io/NetworkPolicy", "policy/PodDisruptionBudget", "rbac.authorization.k8s.io/Role",
		"rbac.authorization.k8s.io/RoleBinding":
	default:
		return BuiltInKind{}, false
	}
	known.Plural = PluralOf(kind.WithVersion(known.Version))
	return known, true
}

// PluralOf returns the resource name of a built-in kind, or of one of our own. For other kinds it is a guess.
func PluralOf(gvk schema.GroupVersionKind) string {
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	return plural.Resource
}
