package routing

import (
	"maps"
	"slices"
	"strings"

	networkingv1 "istio.io/client-go/pkg/apis/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// selected holds the Gateways of a Watcher: their names as namespace/name, and the hosts of their servers. Both are
// sorted.
type selected struct {
	names, hosts []string
}

// matching returns the Gateways that a Watcher selects. A Gateway under deletion still counts.
func matching(w *v1beta2.Watcher, gateways []*networkingv1.Gateway) (selected, error) {
	selector, err := metav1.LabelSelectorAsSelector(w.Spec.Gateway.LabelSelector)
	if err != nil {
		return selected{}, err
	}
	var names []string
	hosts := map[string]bool{}
	for _, gateway := range gateways {
		if !selector.Matches(labels.Set(gateway.Labels)) {
			continue
		}
		names = append(names, gateway.Namespace+"/"+gateway.Name)
		for _, server := range gateway.Spec.GetServers() {
			for _, host := range server.GetHosts() {
				if name, usable := hostFor(host, gateway.Namespace, w.Namespace); usable {
					hosts[name] = true
				}
			}
		}
	}
	return selected{names: slices.Sorted(slices.Values(names)), hosts: slices.Sorted(maps.Keys(hosts))}, nil
}

// hostFor returns the name of a Gateway's host, and reports whether a VirtualService in a namespace may use it. A Gateway
// can restrict a host to a namespace with a prefix: "*" for all namespaces, "." for its own, or a namespace's name.
func hostFor(host, gatewayNamespace, namespace string) (string, bool) {
	allowed, name, restricted := strings.Cut(host, "/")
	if !restricted {
		return host, host != ""
	}
	return name, name != "" && (allowed == "*" || allowed == namespace || allowed == "." && gatewayNamespace == namespace)
}

func selectorText(w *v1beta2.Watcher) string {
	if w.Spec.Gateway.LabelSelector == nil {
		return "of spec.gateway, which is empty"
	}
	return metav1.FormatLabelSelector(w.Spec.Gateway.LabelSelector)
}
