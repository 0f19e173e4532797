package routing

import (
	"context"
	"net"
	"strconv"
	"strings"
	"sync"

	networkingv1 "istio.io/client-go/pkg/apis/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// ReasonAddressUnknown: nothing says (yet) which address agents are to be given.
const ReasonAddressUnknown = "ListenerAddressUnknown"

// Addresses knows the address of the listener that agents are given.
type Addresses struct {
	watching  desired.Watching
	informers client.Reader

	mu   sync.Mutex
	last string
}

// NewAddresses makes Addresses that read Gateways from informers.
func NewAddresses(watching desired.Watching, informers client.Reader) *Addresses {
	return &Addresses{watching: watching, informers: informers}
}

// Address is the host:port of the listener that agents are given: a flag where the routing is direct, else the first server
// with a host that can be connected to of the Gateway that flags name. The last one remains while the Gateway is missing, or
// has none: a Gateway that is replaced changes no agent. Where none is known yet, it is a fault that waits.
func (a *Addresses) Address(ctx context.Context) (string, error) {
	switch a.watching.Routing {
	case desired.RoutingDirect:
		return a.watching.Address, nil
	case desired.RoutingIstio:
	case desired.RoutingNone:
		return "", fault.New(fault.Rejected, ReasonAddressUnknown, "remote clusters send no events (--watcher-routing=none)")
	default:
		return "", fault.New(fault.Rejected, ReasonAddressUnknown, "remote clusters send no events (--watcher-routing is not set)")
	}
	key := types.NamespacedName{Namespace: a.watching.GatewayNamespace, Name: a.watching.GatewayName}
	gateway := &networkingv1.Gateway{}
	err := a.informers.Get(ctx, key, gateway)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err == nil:
		if address := addressOf(gateway, a.watching.ListenerPort); address != "" {
			a.last = address
		}
	case !apierrors.IsNotFound(err) && a.last == "":
		return "", fault.New(fault.Transient, ReasonAddressUnknown, "read Gateway %s: %w", key, err)
	}
	switch {
	case a.last != "":
		return a.last, nil
	case err != nil:
		return "", fault.New(fault.Pending, ReasonAddressUnknown, "Gateway %s, whose address agents are given, does not exist", key)
	default:
		return "", fault.New(fault.Pending, ReasonAddressUnknown, "Gateway %s has no server with a host that agents can connect to", key)
	}
}

// addressOf is the address of a Gateway; empty where it has none. A wildcard is no name to connect to.
func addressOf(gateway *networkingv1.Gateway, port int) string {
	for _, server := range gateway.Spec.GetServers() {
		for _, host := range server.GetHosts() {
			if _, name, restricted := strings.Cut(host, "/"); restricted {
				host = name
			}
			number := port
			if number == 0 {
				number = int(server.GetPort().GetNumber())
			}
			if host != "" && !strings.HasPrefix(host, "*") && number != 0 {
				return net.JoinHostPort(host, strconv.Itoa(number))
			}
		}
	}
	return ""
}
