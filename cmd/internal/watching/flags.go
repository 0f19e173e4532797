// Package watching has the flags of `lifecycle-manager run` about events from remote clusters.
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

// Values of --cert-management: who issues the certificates of agents and of the listener.
const (
	// IssuerSelf is an authority of our own, in a Secret of the control plane.
	IssuerSelf = "self"
	// IssuerCertManager is cert-manager, which upstream takes by default.
	IssuerCertManager = "cert-manager.io/v1"
	// IssuerGardener is Gardener's certificate management.
	IssuerGardener = "cert.gardener.cloud/v1alpha1"
)

// Names of flags that are used apart from their definition.
const (
	routingFlag      = "watcher-routing"
	bindFlag         = "kyma-skr-listener-bind-address"
	cidrsFlag        = "listener-gateway-cidrs"
	certificatesFlag = "cert-management"
	// istioNamespaceFlag has an effect without events too: what was there with them is removed from that namespace.
	istioNamespaceFlag = "istio-namespace"
)

// Flags are the flags about events from remote clusters. The fields that are exported say how the listener and the
// certificates are made; Desired has the rest.
type Flags struct {
	// Build is the version of this program, which the agent's image has where no tag is given.
	Build string

	// BindAddress is where the listener listens.
	BindAddress string
	// CertManagement is IssuerSelf, IssuerCertManager or IssuerGardener.
	CertManagement string
	// KeySize is that of agents' keys, in bits. Their certificates are valid for Duration, renewed RenewBefore their end, and
	// RenewBuffer after that they count as not renewed.
	KeySize                            int
	Duration, RenewBefore, RenewBuffer time.Duration
	// IssuerName and IssuerNamespace name the issuer, for those of somebody else.
	IssuerName, IssuerNamespace string
	// SwitchGracePeriod is how long agents have to receive a new authority before the listener's certificate is one of it.
	SwitchGracePeriod time.Duration
	// ExpiryWindow is how long before its end the listener's certificate counts as close to it.
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
	set.StringVar(&f.routing, routingFlag, string(desired.RoutingNone), "how events from remote clusters reach the listener: none (there are no events, and the other flags of this group but istio-namespace have no effect), direct (the listener ends mutual TLS itself, behind anything that passes TLS on) or istio (by gateways of Istio)")
	set.StringVar(&f.address, "watcher-listener-address", "", "host:port of the listener that agents are given; needed for, and only with, --watcher-routing direct")
	set.StringVar(&f.BindAddress, bindFlag, ":8082", "address of the listener")
	set.StringSliceVar(&f.cidrs, cidrsFlag, nil, "address ranges of the gateways, from which alone the listener takes the client's certificate in a header; needed for, and only with, --watcher-routing istio")
	set.IntVar(&f.port, "listener-port-overwrite", 0, "port that agents are given instead of the Gateway's; 0 is the Gateway's")
	set.StringSliceVar(&f.dnsNames, "additional-dns-names", nil, "further DNS names, or IP addresses, in the certificates of all agents")
	set.StringVar(&f.istioNamespace, istioNamespaceFlag, shared.NamespaceIstio, "namespace of the control plane with the certificates of agents and of the listener, also where there is no Istio; without events, those that are left are removed from it")
	set.StringVar(&f.gatewayName, "istio-gateway-name", "klm-watcher", "name of the Gateway whose address agents are given")
	set.StringVar(&f.gatewayNamespace, "istio-gateway-namespace", "kcp-system", "namespace of that Gateway")
	set.DurationVar(&f.SwitchGracePeriod, "istio-gateway-server-cert-switch-grace-period", certificates.DefaultSwitchGracePeriod, "how long agents have to receive a new authority before the listener's certificate is one of it")
	set.DurationVar(&f.ExpiryWindow, "istio-gateway-server-cert-expiry-window", 14*day, "how long before its end the listener's certificate is reported as close to it")
	set.StringVar(&f.CertManagement, certificatesFlag, IssuerSelf, "who issues the certificates: self (an authority of our own, the default because it needs nothing else in the control plane), "+IssuerCertManager+" or "+IssuerGardener)
	set.DurationVar(&f.Duration, "self-signed-cert-duration", certificates.DefaultDuration, "how long a certificate of an agent is valid")
	set.DurationVar(&f.RenewBefore, "self-signed-cert-renew-before", certificates.DefaultRenewBefore, "how long before its end a certificate of an agent is renewed")
	set.DurationVar(&f.RenewBuffer, "self-signed-cert-renew-buffer", certificates.DefaultRenewBuffer, "how long after that it is reported as not renewed")
	set.IntVar(&f.KeySize, "self-signed-cert-key-size", certificates.DefaultKeySize, "bits of the RSA keys of agents")
	set.StringVar(&f.IssuerName, "self-signed-cert-issuer-name", "klm-watcher-selfsigned", "issuer of the certificates, where others issue them")
	set.StringVar(&f.IssuerNamespace, "self-signed-cert-issuer-namespace", "istio-system", "namespace of the issuer; for cert-manager that of --istio-namespace, or empty for a ClusterIssuer")
	set.StringVar(&f.imageRegistry, "skr-watcher-image-registry", "", "registry of the agent's image, with a path where it has one")
	set.StringVar(&f.imageName, "skr-watcher-image-name", "lifecycle-manager-agent", "name of the agent's image")
	set.StringVar(&f.imageTag, "skr-watcher-image-tag", "", "tag of the agent's image; default: this build's version")
	set.BoolVar(&f.restartOnRenewal, "skr-watcher-restart-on-renewal", false, "start an agent again for each certificate; for an image that reads its certificate only when it starts, as upstream's does")
	set.StringVar(&f.memoryLimit, "skr-webhook-memory-limits", "200Mi", "memory that an agent may use")
	set.StringVar(&f.cpuLimit, "skr-webhook-cpu-limits", "0.1", "processor time that an agent may use")
}

// Names are those of the flags that are settings of the instance. The others are a matter of one process: where it listens,
// and which gateways it is reached through.
func Names() []string {
	var names []string
	for _, name := range all() {
		if name != bindFlag && name != cidrsFlag {
			names = append(names, name)
		}
	}
	return names
}

// all are the names of all flags of the group.
func all() []string {
	var groups cli.Groups
	(&Flags{}).AddTo(&groups)
	var names []string
	groups[0].Set.VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	return names
}

// IsOff tells whether a set of flags says that there are no events: the others of the group have no effect then.
func IsOff(set *pflag.FlagSet) bool {
	flag := set.Lookup(routingFlag)
	return flag == nil || flag.Value.String() == string(desired.RoutingNone)
}

// WarnOfUnused logs a warning for each flag that is given and has no effect, because there are no events.
func WarnOfUnused(set *pflag.FlagSet, log logr.Logger) {
	if IsOff(set) {
		settings.WarnOf(set, log, "there are no events from remote clusters (--"+routingFlag+" "+string(desired.RoutingNone)+")",
			slices.DeleteFunc(all(), func(name string) bool { return name == istioNamespaceFlag })...)
	}
}

// Desired are the settings that decide what a Kyma means.
func (f *Flags) Desired() desired.Watching {
	return desired.Watching{
		Routing: desired.Routing(f.routing), Address: f.address, ListenerPort: f.port, DNSNames: f.dnsNames, IstioNamespace: f.istioNamespace,
		GatewayName: f.gatewayName, GatewayNamespace: f.gatewayNamespace, Image: f.image(), MemoryLimit: f.memoryLimit, CPULimit: f.cpuLimit,
		RestartOnRenewal: f.restartOnRenewal, FIPS: fips140.Enabled(),
	}
}

// image is the agent's, as a container has it.
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

// Gateways are the address ranges from which the listener takes the client's certificate in a header. They were checked.
func (f *Flags) Gateways() []netip.Prefix {
	ranges := make([]netip.Prefix, 0, len(f.cidrs))
	for _, text := range f.cidrs {
		if prefix, err := netip.ParsePrefix(text); err == nil {
			ranges = append(ranges, prefix.Masked())
		}
	}
	return ranges
}

// Features are those of the list of rights that are switched on by these flags.
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
