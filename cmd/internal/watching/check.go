package watching

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// Minimum values of cert-manager.
const (
	minDurationOfCertManager    = time.Hour
	minRenewBeforeOfCertManager = 5 * time.Minute
)

// Check refuses values that cannot work. Without events, it refuses only values that cannot be parsed, because the
// arguments of upstream's Deployment must start this process, whatever they configure for events.
func (f *Flags) Check() error {
	if err := errors.Join(f.checkForms()...); err != nil {
		return err
	}
	var problems []error
	switch desired.Routing(f.routing) {
	case desired.RoutingNone:
		return nil
	case desired.RoutingDirect:
		if f.address == "" {
			problems = append(problems, errors.New("--watcher-routing direct needs --watcher-listener-address, the host:port by which agents reach the listener"))
		}
		if len(f.cidrs) > 0 {
			problems = append(problems, errors.New("--listener-gateway-cidrs is for --watcher-routing istio: with direct no header is trusted"))
		}
	case desired.RoutingIstio:
		if f.address != "" {
			problems = append(problems, errors.New("--watcher-listener-address is for --watcher-routing direct: with istio agents are given the address of the Gateway"))
		}
		if len(f.cidrs) == 0 {
			problems = append(problems, errors.New("--watcher-routing istio needs --listener-gateway-cidrs, the address ranges of the gateways: a client certificate in a header is trusted only from there"))
		}
	default:
		problems = append(problems, fmt.Errorf("--watcher-routing must be %s, %s or %s, not %q", desired.RoutingNone, desired.RoutingDirect, desired.RoutingIstio, f.routing))
	}
	return errors.Join(append(problems, f.checkCertificates()...)...)
}

// checkForms returns the problems of each flag on its own.
func (f *Flags) checkForms() []error {
	problems := []error{
		checkAddress("kyma-skr-listener-bind-address", f.BindAddress, true),
		checkNamespace("istio-namespace", f.istioNamespace), checkNamespace("istio-gateway-namespace", f.gatewayNamespace),
		checkName("istio-gateway-name", f.gatewayName), checkName("self-signed-cert-issuer-name", f.IssuerName),
		checkQuantity("skr-webhook-memory-limits", f.memoryLimit), checkQuantity("skr-webhook-cpu-limits", f.cpuLimit),
	}
	if f.address != "" {
		problems = append(problems, checkAddress("watcher-listener-address", f.address, false))
	}
	if f.IssuerNamespace != "" {
		problems = append(problems, checkNamespace("self-signed-cert-issuer-namespace", f.IssuerNamespace))
	}
	for _, text := range f.cidrs {
		problems = append(problems, checkRange(text))
	}
	for _, text := range f.dnsNames {
		if !isHost(text) && len(validation.IsWildcardDNS1123Subdomain(text)) > 0 {
			problems = append(problems, fmt.Errorf("--additional-dns-names must be DNS names or IP addresses, not %q", text))
		}
	}
	if f.port < 0 || f.port > 65535 {
		problems = append(problems, fmt.Errorf("--listener-port-overwrite must be a port, or 0, not %d", f.port))
	}
	switch f.CertManagement {
	case IssuerSelf, IssuerCertManager, IssuerGardener:
	default:
		problems = append(problems, fmt.Errorf("--cert-management must be %s, %s or %s, not %q", IssuerSelf, IssuerCertManager, IssuerGardener, f.CertManagement))
	}
	if _, err := name.NewTag(f.image()); err != nil {
		problems = append(problems, fmt.Errorf("--skr-watcher-image-registry, --skr-watcher-image-name and --skr-watcher-image-tag name no image: %w", err))
	}
	return problems
}

// checkCertificates returns the values that the issuers would refuse.
func (f *Flags) checkCertificates() []error {
	var problems []error
	if f.Duration <= 0 || f.RenewBefore <= 0 || f.RenewBefore >= f.Duration {
		problems = append(problems, fmt.Errorf("--self-signed-cert-renew-before must be above 0 and below --self-signed-cert-duration, not %s of %s", f.RenewBefore, f.Duration))
	}
	if f.RenewBuffer < 0 || f.SwitchGracePeriod < 0 || f.ExpiryWindow < 0 {
		problems = append(problems, errors.New("--self-signed-cert-renew-buffer, --istio-gateway-server-cert-switch-grace-period and --istio-gateway-server-cert-expiry-window must not be negative"))
	}
	if f.KeySize < 2048 || f.KeySize > 8192 {
		problems = append(problems, fmt.Errorf("--self-signed-cert-key-size must be between 2048 and 8192, not %d", f.KeySize))
	}
	switch f.CertManagement {
	case IssuerCertManager:
		if f.IssuerNamespace != "" && f.IssuerNamespace != f.istioNamespace {
			problems = append(problems, fmt.Errorf("--self-signed-cert-issuer-namespace must be the value of --istio-namespace (%s) with cert-manager, because an Issuer serves only its own namespace, or empty for a ClusterIssuer, not %s", f.istioNamespace, f.IssuerNamespace))
		}
		if f.Duration < minDurationOfCertManager || f.RenewBefore < minRenewBeforeOfCertManager {
			problems = append(problems, fmt.Errorf("--self-signed-cert-duration must be at least %s and --self-signed-cert-renew-before at least %s with cert-manager", minDurationOfCertManager, minRenewBeforeOfCertManager))
		}
	case IssuerGardener:
		if f.KeySize != 2048 && f.KeySize != 3072 && f.KeySize != 4096 {
			problems = append(problems, fmt.Errorf("--self-signed-cert-key-size must be 2048, 3072 or 4096 with %s, not %d", IssuerGardener, f.KeySize))
		}
	}
	return problems
}

// checkAddress checks a host:port. An address to listen on may have no host.
func checkAddress(flag, address string, listened bool) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("--%s must be host:port, not %q", flag, address)
	}
	if number, err := strconv.Atoi(port); err != nil || number < 1 || number > 65535 {
		return fmt.Errorf("--%s %q has no port between 1 and 65535", flag, address)
	}
	if !isHost(host) && (host != "" || !listened) {
		return fmt.Errorf("--%s %q has no host that is a DNS name or an IP address", flag, address)
	}
	return nil
}

func isHost(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil || len(validation.IsDNS1123Subdomain(text)) == 0
}

func checkRange(text string) error {
	prefix, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return fmt.Errorf("--listener-gateway-cidrs must be address ranges such as 10.0.0.0/24, not %q", text)
	case prefix.Bits() == 0:
		return fmt.Errorf("--listener-gateway-cidrs %s would trust everybody who reaches the listener", text)
	}
	return nil
}

func checkNamespace(flag, text string) error {
	if problems := validation.IsDNS1123Label(text); len(problems) > 0 {
		return fmt.Errorf("--%s %q: %s", flag, text, problems[0])
	}
	return nil
}

func checkName(flag, text string) error {
	if problems := validation.IsDNS1123Subdomain(text); len(problems) > 0 {
		return fmt.Errorf("--%s %q: %s", flag, text, problems[0])
	}
	return nil
}

func checkQuantity(flag, text string) error {
	quantity, err := resource.ParseQuantity(text)
	if err != nil || quantity.Sign() <= 0 {
		return fmt.Errorf("--%s must be a quantity above 0, such as 200Mi or 0.1, not %q", flag, text)
	}
	return nil
}
