package kinds

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestPluralsOfBuiltInKinds(t *testing.T) {
	t.Parallel()
	for kind, plural := range map[string]string{
		"/Namespace":                            "namespaces",
		"/Node":                                 "nodes",
		"/PersistentVolume":                     "persistentvolumes",
		"/ConfigMap":                            "configmaps",
		"/Endpoints":                            "endpoints",
		"/Event":                                "events",
		"/LimitRange":                           "limitranges",
		"/PersistentVolumeClaim":                "persistentvolumeclaims",
		"/Pod":                                  "pods",
		"/PodTemplate":                          "podtemplates",
		"/ReplicationController":                "replicationcontrollers",
		"/ResourceQuota":                        "resourcequotas",
		"/Secret":                               "secrets",
		"/Service":                              "services",
		"/ServiceAccount":                       "serviceaccounts",
		"apps/ControllerRevision":               "controllerrevisions",
		"apps/DaemonSet":                        "daemonsets",
		"apps/Deployment":                       "deployments",
		"apps/ReplicaSet":                       "replicasets",
		"apps/StatefulSet":                      "statefulsets",
		"autoscaling/HorizontalPodAutoscaler":   "horizontalpodautoscalers",
		"batch/CronJob":                         "cronjobs",
		"batch/Job":                             "jobs",
		"coordination.k8s.io/Lease":             "leases",
		"discovery.k8s.io/EndpointSlice":        "endpointslices",
		"networking.k8s.io/Ingress":             "ingresses",
		"networking.k8s.io/IngressClass":        "ingressclasses",
		"networking.k8s.io/NetworkPolicy":       "networkpolicies",
		"policy/PodDisruptionBudget":            "poddisruptionbudgets",
		"rbac.authorization.k8s.io/ClusterRole": "clusterroles",
		"rbac.authorization.k8s.io/ClusterRoleBinding":                  "clusterrolebindings",
		"rbac.authorization.k8s.io/Role":                                "roles",
		"rbac.authorization.k8s.io/RoleBinding":                         "rolebindings",
		"scheduling.k8s.io/PriorityClass":                               "priorityclasses",
		"storage.k8s.io/StorageClass":                                   "storageclasses",
		"storage.k8s.io/CSIDriver":                                      "csidrivers",
		"node.k8s.io/RuntimeClass":                                      "runtimeclasses",
		"admissionregistration.k8s.io/MutatingWebhookConfiguration":     "mutatingwebhookconfigurations",
		"admissionregistration.k8s.io/ValidatingWebhookConfiguration":   "validatingwebhookconfigurations",
		"admissionregistration.k8s.io/ValidatingAdmissionPolicy":        "validatingadmissionpolicies",
		"admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
		"apiextensions.k8s.io/CustomResourceDefinition":                 "customresourcedefinitions",
		"apiregistration.k8s.io/APIService":                             "apiservices",
		"certificates.k8s.io/CertificateSigningRequest":                 "certificatesigningrequests",
	} {
		group, name, _ := strings.Cut(kind, "/")
		known, ok := BuiltIn(schema.GroupKind{Group: group, Kind: name})
		require.True(t, ok, kind)
		require.Equal(t, plural, known.Plural, kind)
	}
}
