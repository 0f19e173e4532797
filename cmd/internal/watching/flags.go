// Package watching has the flags about events from remote clusters: how they reach the control plane, the listener, the
// certificates and the agents.
package watching

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
)

// Values of --cert-management.
const (
	// IssuerSelf signs with an authority of our own, kept in a Secret of the control plane.
	IssuerSelf = "self"
	// IssuerCertManager has cert-manager sign.
	IssuerCertManager = "cert-manager.io/v1"
	// IssuerGardener has Gardener's certificate management sign.
	IssuerGardener = "cert.gardener.cloud/v1alpha1"
)

// Flags are those about events from remote clusters.
type Flags struct {
	routing string
	// ListenerBind is where the listener listens.
	ListenerBind string
	// GatewayCIDRs are the address ranges, and GatewayIdentities the URIs in client certificates, of what may pass client
	// certificates on in a header.
	GatewayCIDRs, GatewayIdentities []string
	// ListenerSecret has the listener's, or the gateway's, certificate and the authorities that agents are trusted by.
	ListenerSecret string
	// Management says who signs: one of the constants above.
	Management string
	// IssuerName and IssuerNamespace name the issuer of cert-manager or Gardener.
	IssuerName, IssuerNamespace string
	// Naming is the name of an agent's certificate, with %s for the Kyma's name.
	Naming string
	// KeySize is the size of RSA keys in bits.
	KeySize int
	// Duration is how long a certificate is valid, RenewBefore how long before its end it is renewed, and RenewBuffer how long
	// after that its renewal may take before that is reported.
	Duration, RenewBefore, RenewBuffer time.Duration
	// SwitchGrace is how long after a new authority was announced to the agents the server's certificate is replaced by one of it.
	SwitchGrace time.Duration
	// ExpiryWindow is how long before the server certificate's end its expiry is reported.
	ExpiryWindow time.Duration

	watching                             desired.Watching
	imageName, imageTag, imageRepository string
}

// Register registers the flags. The version of this build is the tag of the agents' image.
func (f *Flags) Register(set *pflag.FlagSet, version string) {
	w := &f.watching
	set.StringVar(&f.routing, "watcher-routing", string(desired.RoutingNone), "how events from remote clusters arrive: none (they have no agents), istio (gateways and VirtualServices) or direct (the listener terminates TLS itself)")
	set.StringVar(&f.ListenerBind, "kyma-skr-listener-bind-address", ":8082", "address of the listener for events from remote clusters")
	set.StringVar(&w.ListenerAddress, "listener-external-address", "", "host:port that agents report to with --watcher-routing=direct")
	set.StringSliceVar(&f.GatewayCIDRs, "listener-gateway-cidrs", nil, "address ranges of the gateway, whose header X-Forwarded-Client-Cert is trusted")
	set.StringSliceVar(&f.GatewayIdentities, "listener-gateway-identities", nil, "URIs in the gateway's client certificate, such as spiffe://cluster.local/ns/istio-system/sa/istio-ingressgateway, by which its header X-Forwarded-Client-Cert is trusted")
	set.StringVar(&f.ListenerSecret, "listener-secret-name", "klm-istio-gateway", "Secret in the namespace --istio-namespace with the certificate of the gateway or the listener (tls.crt, tls.key), and the authorities that agents are trusted by (ca.crt)")
	set.StringVar(&w.IstioNamespace, "istio-namespace", "istio-system", "namespace of the certificates and their Secrets")
	set.StringVar(&w.GatewayName, "istio-gateway-name", "klm-watcher", "gateway whose host agents report to with --watcher-routing=istio")
	set.StringVar(&w.GatewayNamespace, "istio-gateway-namespace", "kcp-system", "namespace of that gateway")
	set.StringVar(&w.PortOverwrite, "listener-port-overwrite", "", "port that agents report to, where it is not that of the gateway or of --listener-external-address")
	set.StringVar(&f.Management, "cert-management", IssuerSelf, "who signs certificates: "+IssuerSelf+" (an authority of our own), "+IssuerCertManager+" or "+IssuerGardener)
	set.StringVar(&f.IssuerName, "self-signed-cert-issuer-name", "klm-watcher-selfsigned", "issuer of cert-manager or Gardener")
	set.StringVar(&f.IssuerNamespace, "self-signed-cert-issuer-namespace", "istio-system", "namespace of that issuer")
	set.StringVar(&f.Naming, "self-signed-cert-naming-template", "%s-webhook-tls", "name of an agent's certificate, with %s for the Kyma's name")
	set.IntVar(&f.KeySize, "self-signed-cert-key-size", 4096, "size of the RSA keys in bits")
	set.DurationVar(&f.Duration, "self-signed-cert-duration", 90*24*time.Hour, "how long a certificate is valid")
	set.DurationVar(&f.RenewBefore, "self-signed-cert-renew-before", 60*24*time.Hour, "how long before its end a certificate is renewed")
	set.DurationVar(&f.RenewBuffer, "self-signed-cert-renew-buffer", 24*time.Hour, "how late a renewal may be before the metric lifecycle_mgr_self_signed_cert_not_renew reports it")
	set.DurationVar(&f.SwitchGrace, "istio-gateway-server-cert-switch-grace-period", 24*time.Hour, "how long agents know a new authority before the server's certificate is one of it")
	set.DurationVar(&f.ExpiryWindow, "istio-gateway-server-cert-expiry-window", 20*24*time.Hour, "how long before the end of the server's certificate the metric lifecycle_mgr_gateway_secret_server_cert_close_to_expiry reports it")
	set.StringSliceVar(&w.AdditionalDNSNames, "additional-dns-names", nil, "DNS names that the certificate of each agent has beside those of its Service")
	set.StringVar(&f.imageRepository, "skr-watcher-image-registry", "", "registry and path of the agents' image; required with --watcher-routing")
	set.StringVar(&f.imageName, "skr-watcher-image-name", "lifecycle-manager-agent", "name of the agents' image")
	set.StringVar(&f.imageTag, "skr-watcher-image-tag", version, "tag, or digest with its algorithm, of the agents' image")
	set.StringVar(&w.AgentMemory, "skr-webhook-memory-limits", "64Mi", "memory that an agent may use at most")
	set.StringVar(&w.AgentCPU, "skr-webhook-cpu-limits", "0.1", "CPU that an agent may use at most")
}

// Watching are the settings of an instance, once Check has found nothing wrong.
func (f *Flags) Watching() desired.Watching {
	w := f.watching
	w.Routing = desired.Routing(f.routing)
	separator := ":"
	if strings.Contains(f.imageTag, ":") {
		separator = "@"
	}
	w.AgentImage = strings.TrimSuffix(f.imageRepository, "/") + "/" + f.imageName + separator + f.imageTag
	return w
}

// Check refuses what cannot work, before anything is started.
func (f *Flags) Check() error {
	switch desired.Routing(f.routing) {
	case desired.RoutingNone:
		return nil
	case desired.RoutingIstio:
	case desired.RoutingDirect:
		if host, port, err := net.SplitHostPort(f.watching.ListenerAddress); err != nil || host == "" || port == "" {
			return fmt.Errorf("--listener-external-address must be host:port, as agents reach the listener with --watcher-routing=direct, not %q", f.watching.ListenerAddress)
		}
	default:
		return fmt.Errorf("--watcher-routing must be %s, %s or %s, not %q", desired.RoutingNone, desired.RoutingIstio, desired.RoutingDirect, f.routing)
	}
	switch f.Management {
	case IssuerSelf, IssuerCertManager, IssuerGardener:
	default:
		return fmt.Errorf("--cert-management must be %s, %s or %s, not %q", IssuerSelf, IssuerCertManager, IssuerGardener, f.Management)
	}
	for _, cidr := range f.GatewayCIDRs {
		if _, _, err := net.ParseCIDR(cidr); err != nil {
			return fmt.Errorf("--listener-gateway-cidrs: %w", err)
		}
	}
	if strings.Count(f.Naming, "%s") != 1 || strings.Count(f.Naming, "%") != 1 {
		return fmt.Errorf("--self-signed-cert-naming-template must have %%s once, and no other %%: %q", f.Naming)
	}
	if f.KeySize < 2048 || f.KeySize > 8192 {
		return fmt.Errorf("--self-signed-cert-key-size must be between 2048 and 8192, not %d", f.KeySize)
	}
	if f.RenewBefore <= 0 || f.Duration <= f.RenewBefore || f.RenewBuffer < 0 || f.RenewBuffer >= f.RenewBefore {
		return fmt.Errorf("--self-signed-cert-duration (%s) must be longer than --self-signed-cert-renew-before (%s), and that longer than --self-signed-cert-renew-buffer (%s)", f.Duration, f.RenewBefore, f.RenewBuffer)
	}
	if f.SwitchGrace < 0 || f.ExpiryWindow < 0 {
		return errors.New("--istio-gateway-server-cert-switch-grace-period and --istio-gateway-server-cert-expiry-window must not be negative")
	}
	if f.imageRepository == "" || f.imageName == "" || f.imageTag == "" {
		return errors.New("--skr-watcher-image-registry, --skr-watcher-image-name and --skr-watcher-image-tag must say which image the agents are, with --watcher-routing")
	}
	for name, quantity := range map[string]string{"skr-webhook-memory-limits": f.watching.AgentMemory, "skr-webhook-cpu-limits": f.watching.AgentCPU} {
		if _, err := resource.ParseQuantity(quantity); err != nil {
			return fmt.Errorf("--%s must be a quantity, not %q: %w", name, quantity, err)
		}
	}
	return nil
}
