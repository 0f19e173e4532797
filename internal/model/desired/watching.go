package desired

import (
	"cmp"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Routing says how events from remote clusters reach the listener (`--watcher-routing`).
type Routing string

const (
	// RoutingNone: there are no events. Changes in remote clusters are found by the sweep.
	RoutingNone Routing = "none"
	// RoutingDirect: agents connect to the listener through whatever passes TLS on, and the listener ends mutual TLS itself.
	RoutingDirect Routing = "direct"
	// RoutingIstio: agents connect to gateways of Istio in the control plane, which end mutual TLS.
	RoutingIstio Routing = "istio"
)

// Watching are the flags of an instance about events from remote clusters.
type Watching struct {
	// Routing is RoutingNone by default.
	Routing Routing
	// Address is the host:port of the listener that agents are given where Routing is RoutingDirect
	// (`--watcher-listener-address`).
	Address string
	// ListenerPort replaces the port of the Gateway in the address that agents are given where Routing is RoutingIstio
	// (`--listener-port-overwrite`); zero keeps it.
	ListenerPort int
	// DNSNames are names in the certificates of all agents, besides those of their Services (`--additional-dns-names`).
	DNSNames []string
	// IstioNamespace has the certificates of agents and of the listener, also where there is no Istio (`--istio-namespace`).
	IstioNamespace string
	// GatewayName and GatewayNamespace name the Gateway whose address agents are given where Routing is RoutingIstio
	// (`--istio-gateway-name`, `--istio-gateway-namespace`).
	GatewayName, GatewayNamespace string
	// Image is that of the agent (`--skr-watcher-image-registry`, `-name`, `-tag`), MemoryLimit and CPULimit those of its
	// container (`--skr-webhook-memory-limits`, `--skr-webhook-cpu-limits`).
	Image, MemoryLimit, CPULimit string
	// RestartOnRenewal has an agent started again for each certificate (`--skr-watcher-restart-on-renewal`).
	RestartOnRenewal bool
	FIPS             bool // agents allow nothing but FIPS 140-3, because the process that decides what they are to be uses it
}

// Enabled tells whether remote clusters send events.
func (w Watching) Enabled() bool { return w.Routing != "" && w.Routing != RoutingNone }

// CertificateName is the name of the certificate of a Kyma's agent, and of its Secret.
func CertificateName(kyma string) string { return kyma + "-webhook-tls" }

// IsCertificate tells whether a Secret of the control plane has the certificate of the agent of a Kyma of this name.
func (w Watching) IsCertificate(namespace, name, kyma string) bool {
	return w.Enabled() && namespace == w.IstioNamespace && name == CertificateName(kyma)
}

// ManagerOf is who receives the events of a Watcher, as it says, else as its label managed-by does, else this instance. The
// name is part of the path of the URL.
func (s Settings) ManagerOf(w *v1beta2.Watcher) string {
	return cmp.Or(w.Spec.Manager, w.Labels[shared.LabelManagedBy], s.WithDefaults().ManagedBy)
}
