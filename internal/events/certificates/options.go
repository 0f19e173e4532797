package certificates

import (
	"cmp"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/events/certificates/pki"
	"github.com/kyma-project/lifecycle-manager/internal/events/certificates/rotation"
)

// Management says who issues certificates (`--cert-management`).
type Management string

// Who issues certificates.
const (
	// SelfManaged: this instance, with an authority of its own.
	SelfManaged Management = "self"
	// CertManagerManaged: cert-manager.
	CertManagerManaged Management = "cert-manager.io/v1"
	// GardenerManaged: Gardener's certificate management.
	GardenerManaged Management = "cert.gardener.cloud/v1alpha1"
)

// Defaults of Options.
const (
	DefaultKeySize           = 4096
	DefaultDuration          = 90 * 24 * time.Hour
	DefaultRenewBefore       = 60 * 24 * time.Hour
	DefaultRenewBuffer       = 24 * time.Hour
	DefaultSwitchGracePeriod = 4 * 24 * time.Hour
	DefaultListenerReload    = 2 * time.Minute
	DefaultAuthorityDuration = 365 * 24 * time.Hour
	DefaultListenerSecret    = "klm-istio-gateway"
)

const minKeySize, maxKeySize = 2048, 8192

// Options are the settings of certificates.
type Options struct {
	// Client reads and writes the control plane live.
	Client client.Client
	// Management is SelfManaged by default.
	Management Management
	// Namespace has all certificates (`--istio-namespace`).
	Namespace string
	// ManagedBy is the instance's value of the label `managed-by`; lifecycle-manager by default.
	ManagedBy string
	// IssuerName and IssuerNamespace name the issuer of cert-manager or Gardener (`--self-signed-cert-issuer-name`,
	// `-namespace`). For cert-manager, the namespace is Namespace, or empty for a ClusterIssuer.
	IssuerName, IssuerNamespace string
	// KeySize is that of agents' RSA keys (`--self-signed-cert-key-size`).
	KeySize int
	// Duration and RenewBefore say how long certificates are valid, and how long before their end they are renewed
	// (`--self-signed-cert-duration`, `--self-signed-cert-renew-before`).
	Duration, RenewBefore time.Duration
	// RenewBuffer is how long after its time a renewal counts as late (`--self-signed-cert-renew-buffer`).
	RenewBuffer time.Duration
	// SwitchGracePeriod is how long agents take at most to receive a bundle, and again to receive a certificate: the listener
	// shows a certificate of another authority only so long after new bundles have it, and what nobody uses any more stays
	// trusted twice as long.
	SwitchGracePeriod time.Duration
	// ListenerReload is how long the listener, or the gateway before it, takes at most to read its Secret when that changes;
	// 2 minutes by default, or less where the grace period is short.
	ListenerReload time.Duration
	// AuthorityDuration is how long an authority of ours is valid. It is replaced before certificates of it would have to
	// expire early.
	AuthorityDuration time.Duration
	// ListenerNames are the DNS names and IP addresses by which agents reach the listener.
	ListenerNames []string
	// FindListenerNames, where it is set, tells them before each rotation instead: they may change.
	FindListenerNames func(ctx context.Context) ([]string, error)
	// ListenerSecret is the name of the Secret with the listener's certificate, and whom it trusts.
	ListenerSecret string
	// Now is the clock; time.Now by default.
	Now func() time.Time
	// NewKey makes the keys of agents; RSA keys of KeySize by default. Where it is given, no size is checked.
	NewKey func() (crypto.Signer, error)
}

func (o Options) withDefaults() Options {
	o.Management = cmp.Or(o.Management, SelfManaged)
	o.ManagedBy = cmp.Or(o.ManagedBy, shared.ManagedByLifecycleManager)
	o.KeySize = cmp.Or(o.KeySize, DefaultKeySize)
	o.Duration = cmp.Or(o.Duration, DefaultDuration)
	o.RenewBefore = cmp.Or(o.RenewBefore, DefaultRenewBefore)
	o.RenewBuffer = cmp.Or(o.RenewBuffer, DefaultRenewBuffer)
	o.SwitchGracePeriod = cmp.Or(o.SwitchGracePeriod, DefaultSwitchGracePeriod)
	o.ListenerReload = cmp.Or(o.ListenerReload, min(DefaultListenerReload, o.SwitchGracePeriod/4))
	o.AuthorityDuration = cmp.Or(o.AuthorityDuration, DefaultAuthorityDuration)
	o.ListenerSecret = cmp.Or(o.ListenerSecret, DefaultListenerSecret)
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Validate says what is wrong with the options; it needs no Client.
func (o Options) Validate() error {
	o = o.withDefaults()
	switch {
	case o.Namespace == "":
		return fmt.Errorf("certificates need a namespace")
	case o.KeySize < minKeySize || o.KeySize > maxKeySize:
		return fmt.Errorf("keys of certificates have %d to %d bits, not %d", minKeySize, maxKeySize, o.KeySize)
	case o.Duration <= 0 || o.RenewBefore <= 0 || o.RenewBefore >= o.Duration:
		return fmt.Errorf("certificates that are valid for %s cannot be renewed %s before their end", o.Duration, o.RenewBefore)
	case o.RenewBuffer < 0 || o.SwitchGracePeriod < 0:
		return fmt.Errorf("periods of certificates cannot be negative")
	case len(o.ListenerNames) == 0 && o.FindListenerNames == nil:
		return fmt.Errorf("the listener's certificate needs a DNS name or an IP address")
	}
	switch o.Management {
	case SelfManaged:
		if o.AuthorityDuration <= o.authorityRenewBefore() {
			return fmt.Errorf("an authority that is valid for %s cannot be replaced before certificates of %s expire", o.AuthorityDuration, o.Duration)
		}
		return nil
	case CertManagerManaged:
		if o.IssuerNamespace != "" && o.IssuerNamespace != o.Namespace {
			return fmt.Errorf("an Issuer of cert-manager signs only in its own namespace: it is to be in namespace %s, or a ClusterIssuer, which has none", o.Namespace)
		}
	case GardenerManaged:
		if sizes := []int{2048, 3072, 4096}; !slices.Contains(sizes, o.KeySize) {
			return fmt.Errorf("Gardener's certificates have keys of 2048, 3072 or 4096 bits, not %d", o.KeySize) //nolint:staticcheck // a name
		}
	default:
		return fmt.Errorf("there is no certificate management %q: there are %s, %s and %s", o.Management, SelfManaged, CertManagerManaged, GardenerManaged)
	}
	if o.IssuerName == "" {
		return fmt.Errorf("certificate management %s needs the name of an issuer", o.Management)
	}
	return nil
}

// authorityRenewBefore is how long before an authority of ours expires the next one is made: it signs after the grace period,
// and every certificate before that is valid for as long as all others.
func (o Options) authorityRenewBefore() time.Duration { return o.Duration + 2*o.SwitchGracePeriod }

func (o Options) rules() rotation.Rules {
	return rotation.Rules{Own: o.Management == SelfManaged, Grace: o.SwitchGracePeriod, RenewBefore: o.authorityRenewBefore()}
}

// tolerance is how long things may take. An issuer of somebody else's signs again when it is asked to.
func (o Options) tolerance() rotation.Tolerance {
	return rotation.Tolerance{Buffer: o.RenewBuffer, Renewal: 2 * o.SwitchGracePeriod}
}

func (o Options) newKey() (crypto.Signer, error) {
	if o.NewKey != nil {
		return o.NewKey()
	}
	key, err := rsa.GenerateKey(rand.Reader, o.KeySize)
	if err != nil {
		return nil, fmt.Errorf("make a private key: %w", err)
	}
	return key, nil
}

// newServerKey makes a key of the listener, which proves itself to every agent: one that is cheap to use.
func (o Options) newServerKey() (crypto.Signer, error) {
	if o.NewKey != nil {
		return o.NewKey()
	}
	return pki.NewKey()
}

// renewalOf is when a certificate is to be renewed. One that is valid for less long than usual, since its authority is
// about to expire, is renewed after a third of that time.
func (o Options) renewalOf(notBefore, notAfter time.Time) time.Time {
	return notAfter.Add(-min(o.RenewBefore, notAfter.Sub(notBefore)*2/3))
}
