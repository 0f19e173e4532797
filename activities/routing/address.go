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

// ReasonAddressUnknown: the address of the listener, which agents need, is not known (yet).
const ReasonAddressUnknown = "ListenerAddressUnknown"

// Addresses finds the address of the listener for agents.
type Addresses struct {
	watching  desired.Watching
	informers client.Reader

	mu   sync.Mutex
	last string
}

// NewAddresses returns Addresses that read Gateways from informers.
func NewAddresses(watching desired.Watching, informers client.Reader) *Addresses {
	return &Addresses{watching: watching, informers: informers}
}

// Address returns the host:port of the listener for agents. With direct routing, a flag sets the address. With istio,
// Address uses the Gateway that flags name, and takes the first server with a host that agents can connect to. If the
// Gateway is missing or has no address, the last known address remains valid, so that replacing a Gateway does not change
// agents. If no address is known yet, Address returns a Pending fault.
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
		return "", fault.New(fault.Pending, ReasonAddressUnknown, "Gateway %s does not exist; agents need its address", key)
	default:
		return "", fault.New(fault.Pending, ReasonAddressUnknown, "Gateway %s has no server with a host that agents can connect to", key)
	}
}

// addressOf returns the address of a Gateway, or "" if the Gateway has none. Agents cannot connect to a wildcard.
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
