package listener

import (
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"math/big"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lately"
	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
	"github.com/kyma-project/lifecycle-manager/watchers/listener/credentials"
	"github.com/kyma-project/lifecycle-manager/watchers/listener/xfcc"
)

// Reasons to refuse an identity.
var (
	errSmuggled    = errors.New("the request has the header " + shared.HeaderClientCertificate + " and did not come from a gateway")
	errUntrusted   = errors.New("the request did not come from a gateway")
	errMissing     = errors.New("the request has no client certificate")
	errNotVerified = errors.New("the client certificate is not valid")
	errAnonymous   = errors.New("the client certificate has no common name")
	errRevoked     = errors.New("the client certificate is revoked")
	errNotReady    = errors.New("the listener has no authorities yet")
)

// identify returns the client certificate of a request after it was verified.
func (l *Listener) identify(r *http.Request) (verified, error) {
	now, there := l.options.Credentials.Current()
	if !there {
		l.log.say(errNotReady, "events are refused")
		return verified{}, errNotReady
	}
	if l.options.Routing == desired.RoutingDirect {
		if len(r.Header.Values(shared.HeaderClientCertificate)) > 0 {
			return verified{}, errSmuggled
		}
		if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
			return verified{}, errMissing
		}
		shown := r.TLS.PeerCertificates
		return l.verifier.verify(now, shown[0].Raw, func() (*x509.Certificate, []*x509.Certificate, error) { return shown[0], shown[1:], nil })
	}
	header := strings.Join(r.Header.Values(shared.HeaderClientCertificate), ",")
	if !l.isGateway(r.RemoteAddr) {
		if len(l.options.GatewayCIDRs) == 0 {
			l.log.say(nil, "events are refused: no address range of gateways is configured (--listener-gateway-cidrs)", logkey.Address, r.RemoteAddr)
		} else {
			l.log.say(nil, "an event is refused: it did not come from an address of a gateway (--listener-gateway-cidrs)", logkey.Address, r.RemoteAddr)
		}
		if header != "" {
			return verified{}, errSmuggled
		}
		return verified{}, errUntrusted
	}
	if header == "" {
		return verified{}, errMissing
	}
	if len(header) > shared.MaxCertificateHeaderBytes {
		return verified{}, errNotVerified
	}
	return l.verifier.verify(now, []byte(header), func() (*x509.Certificate, []*x509.Certificate, error) {
		certificate, err := xfcc.Nearest(header)
		return certificate, nil, err
	})
}

// isGateway reports whether a connection comes from the address of a gateway.
func (l *Listener) isGateway(remote string) bool {
	from, err := netip.ParseAddrPort(remote)
	if err != nil {
		return false
	}
	address := from.Addr().Unmap().WithZone("")
	return slices.ContainsFunc(l.options.GatewayCIDRs, func(prefix netip.Prefix) bool { return prefix.Contains(address) })
}

// verifiedAtOnce is how many verified certificates are remembered, enough for a large fleet.
const verifiedAtOnce = 20_000

// verifier verifies each certificate once per version of the authorities, because verification costs more than the rest
// of a request. It does not remember refused certificates, because anybody can send any number of them.
type verifier struct {
	now func() time.Time

	mu      sync.Mutex
	version string
	known   *lately.Cache[[sha256.Size]byte, verified]
}

// verified is a certificate issued by the authorities.
type verified struct {
	// name is the certificate's common name.
	name         string
	serial       *big.Int
	since, until time.Time
}

func newVerifier(now func() time.Time) *verifier {
	return &verifier{now: now}
}

// verify returns the certificate if one of the present authorities issued it and it is valid now. Different
// certificates must have different keys.
func (v *verifier) verify(by credentials.Material, key []byte, read func() (*x509.Certificate, []*x509.Certificate, error)) (verified, error) {
	sum, now := sha256.Sum256(key), v.now()
	known := v.of(by.Version)
	if found, ok := known.Get(sum); ok && !now.Before(found.since) && !now.After(found.until) {
		return found, nil
	}
	leaf, between, err := read()
	if errors.Is(err, xfcc.ErrNoCertificate) {
		return verified{}, errMissing
	}
	if err != nil {
		return verified{}, errNotVerified
	}
	intermediates := x509.NewCertPool()
	for _, each := range between {
		intermediates.AddCert(each)
	}
	chains, err := leaf.Verify(x509.VerifyOptions{
		Roots: by.Authorities, Intermediates: intermediates, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return verified{}, errNotVerified
	}
	if leaf.Subject.CommonName == "" {
		return verified{}, errAnonymous
	}
	found := verified{name: leaf.Subject.CommonName, serial: leaf.SerialNumber, since: leaf.NotBefore, until: leaf.NotAfter}
	for _, each := range chains[0] {
		if each.NotBefore.After(found.since) {
			found.since = each.NotBefore
		}
		if each.NotAfter.Before(found.until) {
			found.until = each.NotAfter
		}
	}
	known.Add(sum, found)
	return found, nil
}

// of returns the certificates verified by these authorities. It forgets those verified by other authorities.
func (v *verifier) of(version string) *lately.Cache[[sha256.Size]byte, verified] {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.known == nil || v.version != version {
		v.known, v.version = lately.New[[sha256.Size]byte, verified](verifiedAtOnce), version
	}
	return v.known
}
