// Package watching defines the flags of `lifecycle-manager run` for events from remote clusters.
package watching

import (
	"crypto/fips140"
	"net/netip"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/cli"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/settings"
	"github.com/kyma-project/lifecycle-manager/deploy/rights"
	"github.com/kyma-project/lifecycle-manager/internal/events/certificates"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// Values of --cert-management: the issuer of the certificates of agents and listener.
const (
	// IssuerSelf is our own authority, in a Secret of the control plane.
	IssuerSelf = "self"
	// IssuerCertManager is cert-manager, upstream's default.
	IssuerCertManager = "cert-manager.io/v1"
	// IssuerGardener is Gardener's certificate management.
	IssuerGardener = "cert.gardener.cloud/v1alpha1"
)

// Names of flags that are used in several places.
const (
	routingFlag      = "watcher-routing"
	bindFlag         = "kyma-skr-listener-bind-address"
	cidrsFlag        = "listener-gateway-cidrs"
	certificatesFlag = "cert-management"
	// istioNamespaceFlag also has an effect without events: leftovers of events are removed from that namespace.
	istioNamespaceFlag = "istio-namespace"
)

// Flags hold the flags for events from remote clusters. The exported fields configure the listener and the
// certificates; Desired returns the others.
type Flags struct {
	// Build is the version of this program. It is the default tag of the agent's image.
	Build string

	// BindAddress is the address of the listener.
	BindAddress string
	// CertManagement is IssuerSelf, IssuerCertManager or IssuerGardener.
	CertManagement string
	// KeySize is the size of agents' keys in bits. Agents' certificates are valid for Duration and renewed RenewBefore
	// they expire. RenewBuffer after that time, they count as not renewed.
	KeySize                            int
	Duration, RenewBefore, RenewBuffer time.Duration
	// IssuerName and IssuerNamespace name an external issuer.
	IssuerName, IssuerNamespace string
	// SwitchGracePeriod is how long agents have to receive a new authority before the listener uses a certificate of
	// it.
	SwitchGracePeriod time.Duration
	// ExpiryWindow is how long before its expiry the listener's certificate counts as close to expiry.
	ExpiryWindow time.Duration

	routing, address                   string
	cidrs, dnsNames                    []string
	port                               int
	istioNamespace                     string
	gatewayName, gatewayNamespace      string
	imageRegistry, imageName, imageTag string
	memoryLimit, cpuLimit              string
	restartOnRenewal                   bool
}

// AddTo registers the flags as a group.
func (f *Flags) AddTo(groups *cli.Groups) {
	const day = 24 * time.Hour
	set := groups.Add("Events from remote clusters")
	set.StringVar(&f.routing, routingFlag, string(desired.RoutingNone), "how events from remote clusters reach the listener: none (no events; the other flags of this group except istio-namespace have no effect), direct (the listener terminates mutual TLS itself, behind anything that passes TLS through) or istio (through Istio gateways)")
	set.StringVar(&f.address, "watcher-listener-address", "", "host:port at which agents reach the listener; required with, and only allowed with, --watcher-routing direct")
	set.StringVar(&f.BindAddress, bindFlag, ":8082", "address of the listener")
	set.StringSliceVar(&f.cidrs, cidrsFlag, nil, "address ranges of the gateways; the listener accepts a client certificate in a header only from there; required with, and only allowed with, --watcher-routing istio")
	set.IntVar(&f.port, "listener-port-overwrite", 0, "port at which agents reach the gateway, instead of the Gateway's port; 0 means the Gateway's port")
	set.StringSliceVar(&f.dnsNames, "additional-dns-names", nil, "further DNS names, or IP addresses, in the certificates of all agents")
	set.StringVar(&f.istioNamespace, istioNamespaceFlag, shared.NamespaceIstio, "control plane namespace with the certificates of agents and of the listener, also without Istio; without events, leftover certificates are removed from it")
	set.StringVar(&f.gatewayName, "istio-gateway-name", "klm-watcher", "name of the Gateway that agents connect to")
	set.StringVar(&f.gatewayNamespace, "istio-gateway-namespace", "kcp-system", "namespace of that Gateway")
	set.DurationVar(&f.SwitchGracePeriod, "istio-gateway-server-cert-switch-grace-period", certificates.DefaultSwitchGracePeriod, "how long agents have to receive a new authority before the listener uses a certificate of it")
	set.DurationVar(&f.ExpiryWindow, "istio-gateway-server-cert-expiry-window", 14*day, "how long before its expiry the listener's certificate is reported as close to expiry")
	set.StringVar(&f.CertManagement, certificatesFlag, IssuerSelf, "who issues the certificates: self (our own authority; the default, because it needs nothing else in the control plane), "+IssuerCertManager+" or "+IssuerGardener)
	set.DurationVar(&f.Duration, "self-signed-cert-duration", certificates.DefaultDuration, "how long an agent's certificate is valid")
	set.DurationVar(&f.RenewBefore, "self-signed-cert-renew-before", certificates.DefaultRenewBefore, "how long before its expiry an agent's certificate is renewed")
	set.DurationVar(&f.RenewBuffer, "self-signed-cert-renew-buffer", certificates.DefaultRenewBuffer, "how long after the renewal time an agent's certificate is reported as not renewed")
	set.IntVar(&f.KeySize, "self-signed-cert-key-size", certificates.DefaultKeySize, "bits of the RSA keys of agents")
	set.StringVar(&f.IssuerName, "self-signed-cert-issuer-name", "klm-watcher-selfsigned", "external issuer of the certificates")
	set.StringVar(&f.IssuerNamespace, "self-signed-cert-issuer-namespace", "istio-system", "namespace of the issuer; for cert-manager the value of --istio-namespace, or empty for a ClusterIssuer")
	set.StringVar(&f.imageRegistry, "skr-watcher-image-registry", "", "registry of the agent's image, with an optional path")
	set.StringVar(&f.imageName, "skr-watcher-image-name", "lifecycle-manager-agent", "name of the agent's image")
	set.StringVar(&f.imageTag, "skr-watcher-image-tag", "", "tag of the agent's image; default: this build's version")
	set.BoolVar(&f.restartOnRenewal, "skr-watcher-restart-on-renewal", false, "restart agents for each new certificate; for an image that reads its certificate only at start, like upstream's")
	set.StringVar(&f.memoryLimit, "skr-webhook-memory-limits", "200Mi", "memory that an agent may use")
	set.StringVar(&f.cpuLimit, "skr-webhook-cpu-limits", "0.1", "processor time that an agent may use")
}

// Names returns the names of the flags that are settings of the instance. The other flags concern a single process:
// where it listens, and which gateways it trusts.
func Names() []string {
	var names []string
	for _, name := range all() {
		if name != bindFlag && name != cidrsFlag {
			names = append(names, name)
		}
	}
	return names
}

// all returns the names of all flags of the group.
func all() []string {
	var groups cli.Groups
	(&Flags{}).AddTo(&groups)
	var names []string
	groups[0].Set.VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	return names
}

// IsOff reports whether a set of flags disables events, so that the other flags of the group have no effect.
func IsOff(set *pflag.FlagSet) bool {
	flag := set.Lookup(routingFlag)
	return flag == nil || flag.Value.String() == string(desired.RoutingNone)
}

// WarnOfUnused logs a warning for each flag that is set and has no effect because events are disabled.
func WarnOfUnused(set *pflag.FlagSet, log logr.Logger) {
	if IsOff(set) {
		settings.WarnOf(set, log, "there are no events from remote clusters (--"+routingFlag+" "+string(desired.RoutingNone)+")",
			slices.DeleteFunc(all(), func(name string) bool { return name == istioNamespaceFlag })...)
	}
}

// Desired returns the settings that are part of a Kyma's desired state.
func (f *Flags) Desired() desired.Watching {
	return desired.Watching{
		Routing: desired.Routing(f.routing), Address: f.address, ListenerPort: f.port, DNSNames: f.dnsNames, IstioNamespace: f.istioNamespace,
		GatewayName: f.gatewayName, GatewayNamespace: f.gatewayNamespace, Image: f.image(), MemoryLimit: f.memoryLimit, CPULimit: f.cpuLimit,
		RestartOnRenewal: f.restartOnRenewal, FIPS: fips140.Enabled(),
	}
}

// image returns the reference of the agent's image.
func (f *Flags) image() string {
	image, tag := f.imageName, f.imageTag
	if f.imageRegistry != "" {
		image = f.imageRegistry + "/" + image
	}
	if tag == "" {
		tag = f.Build
	}
	return image + ":" + tag
}

// Gateways returns the address ranges of the gateways that may report client certificates in a header. Check must have
// accepted them.
func (f *Flags) Gateways() []netip.Prefix {
	ranges := make([]netip.Prefix, 0, len(f.cidrs))
	for _, text := range f.cidrs {
		if prefix, err := netip.ParsePrefix(text); err == nil {
			ranges = append(ranges, prefix.Masked())
		}
	}
	return ranges
}

// Features returns the features in the list of rights that these flags enable.
func (f *Flags) Features() []string {
	if !f.Desired().Enabled() {
		return nil
	}
	features := []string{rights.Watching}
	if f.Desired().Routing == desired.RoutingIstio {
		features = append(features, rights.IstioRouting)
	}
	switch f.CertManagement {
	case IssuerCertManager:
		features = append(features, rights.CertManager)
	case IssuerGardener:
		features = append(features, rights.GardenerCertificates)
	}
	return features
}
