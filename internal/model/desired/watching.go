package desired

import (
	"cmp"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Routing says how events from remote clusters reach the listener (`--watcher-routing`).
type Routing string

const (
	// RoutingNone: there are no events. The sweep finds changes in remote clusters.
	RoutingNone Routing = "none"
	// RoutingDirect: agents connect to the listener through anything that passes TLS on. The listener terminates mutual
	// TLS itself.
	RoutingDirect Routing = "direct"
	// RoutingIstio: agents connect to Istio gateways in the control plane, which terminate mutual TLS.
	RoutingIstio Routing = "istio"
)

// Watching are the flags of an instance about events from remote clusters.
type Watching struct {
	// Routing is RoutingNone by default.
	Routing Routing
	// Address is the host:port of the listener for agents if Routing is RoutingDirect (`--watcher-listener-address`).
	Address string
	// ListenerPort replaces the Gateway's port in the address for agents if Routing is RoutingIstio
	// (`--listener-port-overwrite`); zero keeps the Gateway's port.
	ListenerPort int
	// DNSNames are further names in the certificates of all agents, besides the names of their Services
	// (`--additional-dns-names`).
	DNSNames []string
	// IstioNamespace is the namespace of the certificates of agents and of the listener, even without Istio
	// (`--istio-namespace`).
	IstioNamespace string
	// GatewayName and GatewayNamespace name the Gateway with the address for agents if Routing is RoutingIstio
	// (`--istio-gateway-name`, `--istio-gateway-namespace`).
	GatewayName, GatewayNamespace string
	// Image is the agent's image (`--skr-watcher-image-registry`, `-name`, `-tag`). MemoryLimit and CPULimit are the
	// limits of its container (`--skr-webhook-memory-limits`, `--skr-webhook-cpu-limits`).
	Image, MemoryLimit, CPULimit string
	// RestartOnRenewal restarts an agent for each new certificate (`--skr-watcher-restart-on-renewal`).
	RestartOnRenewal bool
	FIPS             bool // agents are restricted to FIPS 140-3, because the process that computes their spec uses it
}

// Enabled reports whether remote clusters send events.
func (w Watching) Enabled() bool { return w.Routing != "" && w.Routing != RoutingNone }

// CertificateName returns the name of the certificate of a Kyma's agent, and of its Secret.
func CertificateName(kyma string) string { return kyma + "-webhook-tls" }

// IsCertificate reports whether a Secret of the control plane holds the certificate of the agent of a Kyma of this
// name.
func (w Watching) IsCertificate(namespace, name, kyma string) bool {
	return w.Enabled() && namespace == w.IstioNamespace && name == CertificateName(kyma)
}

// ManagerOf returns the receiver of a Watcher's events: its spec.manager, else its label managed-by, else this
// instance. The name is part of the URL's path.
func (s Settings) ManagerOf(w *v1beta2.Watcher) string {
	return cmp.Or(w.Spec.Manager, w.Labels[shared.LabelManagedBy], s.WithDefaults().ManagedBy)
}
