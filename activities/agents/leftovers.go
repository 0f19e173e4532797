package agents

import "k8s.io/apimachinery/pkg/runtime/schema"

// Leftover is an object that releases of upstream have brought for their agent, and that ours does not have.
type Leftover struct {
	GVK        schema.GroupVersionKind
	Name       string
	Namespaced bool
}

// Leftovers are what upstream's agent has beside what ours consists of, those first that refer to others.
func Leftovers() []Leftover {
	rbac := schema.GroupVersion{Group: "rbac.authorization.k8s.io", Version: "v1"}
	core := schema.GroupVersion{Version: "v1"}
	return []Leftover{
		{core.WithKind("ConfigMap"), "skr-webhook-config", true},
		{rbac.WithKind("ClusterRoleBinding"), "read-kymas", false},
		{rbac.WithKind("ClusterRole"), "kyma-reader", false},
		{core.WithKind("ServiceAccount"), "skr-webhook-sa", true},
	}
}
