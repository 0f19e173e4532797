package agent

import (
	"net"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// listenerPort returns the port under which agents reach the listener: 443 if the address has no valid port.
func (s Spec) listenerPort() int {
	_, text, err := net.SplitHostPort(s.Listener)
	if err != nil {
		return 443
	}
	if port, err := strconv.Atoi(text); err == nil && port > 0 && port < 1<<16 {
		return port
	}
	return 443
}

// DNSNames returns the names in the certificate of the agent in a namespace, and the further ones, sorted.
func DNSNames(service, namespace, domain string, further []string) []string {
	names := []string{service + "." + namespace + ".svc", service + "." + namespace + ".svc.cluster.local"}
	if domain != "" {
		names = append(names, domain)
	}
	for _, name := range further {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Leftover is an object that releases of upstream install for their agent and that our agent does not have.
type Leftover struct {
	GVK        schema.GroupVersionKind
	Name       string
	Namespaced bool
}

// Leftovers returns the objects of upstream's agent that ours does not have. An object comes before the objects it
// refers to.
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
