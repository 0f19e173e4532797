package desired

// Routing is how the events of agents reach the control plane (`--watcher-routing`).
type Routing string

const (
	// RoutingNone: remote clusters have no agents and send no events.
	RoutingNone Routing = "none"
	// RoutingIstio: events come in by Istio's gateways, and a VirtualService per Watcher routes them.
	RoutingIstio Routing = "istio"
	// RoutingDirect: agents reach the listener through whatever passes TLS on to it.
	RoutingDirect Routing = "direct"
)

// Watching are the flags of an instance about events from remote clusters. The zero value means that there are none.
type Watching struct {
	// Routing is RoutingNone by default.
	Routing Routing
	// ListenerAddress is the host and port that agents report to with RoutingDirect.
	ListenerAddress string
	// IstioNamespace is where the certificates are, and Secrets with them (`--istio-namespace`).
	IstioNamespace string
	// GatewayName and GatewayNamespace are the gateway whose host agents report to with RoutingIstio, and PortOverwrite the
	// port where it is not the gateway's own.
	GatewayName, GatewayNamespace, PortOverwrite string
	// AdditionalDNSNames are in the certificate of each agent beside those of its Service.
	AdditionalDNSNames []string
	// AgentImage is the image of the agents, and AgentMemory and AgentCPU what each may use at most.
	AgentImage, AgentMemory, AgentCPU string
}

// On tells whether remote clusters have agents.
func (w Watching) On() bool { return w.Routing != "" && w.Routing != RoutingNone }
