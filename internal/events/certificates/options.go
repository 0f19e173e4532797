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

// Management is who issues certificates (`--cert-management`).
type Management string

// Values of Management.
const (
	// SelfManaged means this instance, with its own authority.
	SelfManaged Management = "self"
	// CertManagerManaged means cert-manager.
	CertManagerManaged Management = "cert-manager.io/v1"
	// GardenerManaged means Gardener's certificate management.
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

// Options configures certificates.
type Options struct {
	// Client reads and writes the control plane live.
	Client client.Client
	// Management is who issues certificates. The default is SelfManaged.
	Management Management
	// Namespace is the namespace of all certificates (`--istio-namespace`).
	Namespace string
	// ManagedBy is the instance's value of the label `managed-by`. The default is lifecycle-manager.
	ManagedBy string
	// IssuerName and IssuerNamespace identify the issuer of cert-manager or Gardener (`--self-signed-cert-issuer-name`,
	// `-namespace`). For cert-manager, IssuerNamespace must be Namespace, or empty for a ClusterIssuer.
	IssuerName, IssuerNamespace string
	// KeySize is the size of agents' RSA keys in bits (`--self-signed-cert-key-size`).
	KeySize int
	// Duration is how long certificates are valid, and RenewBefore is how long before their end they are renewed
	// (`--self-signed-cert-duration`, `--self-signed-cert-renew-before`).
	Duration, RenewBefore time.Duration
	// RenewBuffer is how long after its time a renewal counts as late (`--self-signed-cert-renew-buffer`).
	RenewBuffer time.Duration
	// SwitchGracePeriod is the maximum time that agents take to receive a bundle, and again to receive a certificate.
	// The listener shows a certificate of another authority only this long after new bundles contain the authority. An
	// authority that nobody uses stays trusted twice as long.
	SwitchGracePeriod time.Duration
	// ListenerReload is the maximum time that the listener, or the gateway in front of it, takes to read its changed
	// Secret. The default is 2 minutes, or less if the grace period is short.
	ListenerReload time.Duration
	// AuthorityDuration is how long an authority of ours is valid. It is replaced before its expiry would shorten the
	// certificates that it signs.
	AuthorityDuration time.Duration
	// ListenerNames are the DNS names and IP addresses at which agents reach the listener.
	ListenerNames []string
	// FindListenerNames, if not nil, replaces ListenerNames before each rotation, because the names may change.
	FindListenerNames func(ctx context.Context) ([]string, error)
	// ListenerSecret is the name of the Secret with the listener's certificate and the authorities that the listener
	// trusts.
	ListenerSecret string
	// Now is the clock. The default is time.Now.
	Now func() time.Time
	// NewKey creates the keys of agents. The default creates RSA keys of KeySize bits. If NewKey is set, key sizes are
	// not checked.
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

// Validate returns an error if the options cannot work. It does not need a Client.
func (o Options) Validate() error {
	o = o.withDefaults()
	switch {
	case o.Namespace == "":
		return fmt.Errorf("certificates need a namespace")
	case o.KeySize < minKeySize || o.KeySize > maxKeySize:
		return fmt.Errorf("keys of certificates must have %d to %d bits, not %d", minKeySize, maxKeySize, o.KeySize)
	case o.Duration <= 0 || o.RenewBefore <= 0 || o.RenewBefore >= o.Duration:
		return fmt.Errorf("certificates that are valid for %s cannot be renewed %s before they expire", o.Duration, o.RenewBefore)
	case o.RenewBuffer < 0 || o.SwitchGracePeriod < 0:
		return fmt.Errorf("periods of certificates must not be negative")
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
			return fmt.Errorf("an Issuer of cert-manager signs only in its own namespace: use an Issuer in namespace %s, or a ClusterIssuer, which has no namespace", o.Namespace)
		}
	case GardenerManaged:
		if sizes := []int{2048, 3072, 4096}; !slices.Contains(sizes, o.KeySize) {
			return fmt.Errorf("Gardener's certificates must have keys of 2048, 3072 or 4096 bits, not %d", o.KeySize) //nolint:staticcheck // a name
		}
	default:
		return fmt.Errorf("no certificate management %q exists: use %s, %s or %s", o.Management, SelfManaged, CertManagerManaged, GardenerManaged)
	}
	if o.IssuerName == "" {
		return fmt.Errorf("certificate management %s needs the name of an issuer", o.Management)
	}
	return nil
}

// authorityRenewBefore returns how long before an authority of ours expires the next one is created. The next one
// signs after the grace period. Every certificate signed before that is valid for as long as all others.
func (o Options) authorityRenewBefore() time.Duration { return o.Duration + 2*o.SwitchGracePeriod }

func (o Options) rules() rotation.Rules {
	return rotation.Rules{Own: o.Management == SelfManaged, Grace: o.SwitchGracePeriod, RenewBefore: o.authorityRenewBefore()}
}

// tolerance returns how long steps may take. An external issuer signs again only when asked.
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

// newServerKey creates a key of the listener. It is cheap to use, because the listener proves its identity to every
// agent.
func (o Options) newServerKey() (crypto.Signer, error) {
	if o.NewKey != nil {
		return o.NewKey()
	}
	return pki.NewKey()
}

// renewalOf returns when a certificate has to be renewed. If a certificate's lifetime is shortened because its
// authority is about to expire, it is renewed after a third of its lifetime.
func (o Options) renewalOf(notBefore, notAfter time.Time) time.Time {
	return notAfter.Add(-min(o.RenewBefore, notAfter.Sub(notBefore)*2/3))
}
