package certificates

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// Names of objects in the namespace of certificates.
const (
	// AuthoritySecret holds the authorities that agents and listener trust, and the private keys of our own ones.
	AuthoritySecret = "klm-watcher-authority"
	// ListenerCertificate is the Certificate that requests the listener's certificate from an external issuer.
	// ListenerCertificateSecret is the Secret that the issuer writes.
	ListenerCertificate       = "klm-listener"
	ListenerCertificateSecret = "klm-listener-tls"
	// UpstreamAuthoritySecret holds the authority of upstream's issuer. Its certificate is also the certificate of
	// upstream's gateway.
	UpstreamAuthoritySecret = "klm-watcher"
)

// AgentCertificate returns the name of the Certificate and Secret of a Kyma's agent.
func AgentCertificate(kyma string) string { return desired.CertificateName(kyma) }

// Labels and annotations of agents' Secrets, in addition to the labels `kyma-name` and `managed-by`. None holds a
// secret.
const (
	// LabelKymaNamespace is the namespace of the Kyma.
	LabelKymaNamespace = shared.OperatorGroup + "/kyma-namespace"
	// PurposeAgent and PurposeListener are values of the label `purpose`.
	PurposeAgent    = "agent-certificate"
	PurposeListener = "listener-certificate"
	// purposeUpstream is the value of this label on Secrets that upstream created for agents.
	purposeUpstream = "klm-watcher-cert-manager"
	// AnnotationSigner is the fingerprint of the authority that signed the certificate.
	AnnotationSigner = shared.OperatorGroup + "/certificate-signer"
	// AnnotationNotAfter is when the certificate expires, and AnnotationRenewal when it has to be renewed. Both are RFC
	// 3339.
	AnnotationNotAfter = shared.OperatorGroup + "/certificate-not-after"
	AnnotationRenewal  = shared.OperatorGroup + "/certificate-renewal"
	// AnnotationRotate on the Secret of authorities, with any value, requests another authority of ours. It is removed
	// when that authority is created.
	AnnotationRotate = shared.OperatorGroup + "/rotate-authority"
)

// Reasons of faults.
const (
	// ReasonPending means that the certificate is not issued yet.
	ReasonPending = "CertificatePending"
	// ReasonNameTaken means that the certificate's name is used for another Kyma.
	ReasonNameTaken = "CertificateNameTaken"
	// ReasonNoAuthority means that the issuer does not say which authority signed.
	ReasonNoAuthority = "CertificateWithoutAuthority"
	// ReasonUnreadable means that the Secret of authorities cannot be read.
	ReasonUnreadable = "AuthoritiesUnreadable"
	// ReasonNotInstalled means that the control plane does not serve the issuer's kinds.
	ReasonNotInstalled = "IssuerNotInstalled"
	// ReasonRefused means that the control plane refuses an object.
	ReasonRefused = "CertificateRefused"
)

// Request describes the certificate that an agent needs.
type Request struct {
	// Namespace and Kyma identify the Kyma.
	Namespace, Kyma string
	// CommonName is the runtime id.
	CommonName string
	// DNSNames are the DNS names of the agent's webhook.
	DNSNames []string
	// Revoked lists the serial numbers of certificates that must no longer be used (pki.IsRevoked).
	Revoked string
}

// Issued holds the certificate, key and authorities that an agent needs.
type Issued struct {
	// Certificate and PrivateKey are the agent's. Authorities are trusted by the agent and by those who call it. All are
	// in PEM.
	Certificate, PrivateKey, Authorities []byte
	// NotAfter is when the certificate expires.
	NotAfter time.Time
	// Version changes whenever one of the fields above changes. It contains no secret.
	Version string
	// Signer is the fingerprint of the authority that signed the certificate.
	Signer string
}

// String returns a text without secrets.
func (i Issued) String() string { return fmt.Sprintf("certificate %s until %s", i.Version, i.NotAfter) }

// GoString is String.
func (i Issued) GoString() string { return i.String() }

// Issuer issues the certificates of agents.
type Issuer interface {
	// Ensure requests the certificate and returns it after agent and listener accept each other with it. Before that, it
	// returns a Pending fault. If everything is as desired, Ensure writes nothing.
	Ensure(ctx context.Context, request Request) (Issued, error)
	// Remove removes the certificate of a Kyma's agent: first the Certificate that would create the Secret again, then
	// the Secret. Objects of a Kyma with the same name in another namespace stay.
	Remove(ctx context.Context, namespace, kyma string) error
}

// maker returns the maker of an external issuer; nil if we sign ourselves.
func (m Management) maker() maker {
	switch m {
	case CertManagerManaged:
		return certManager{}
	case GardenerManaged:
		return gardener{}
	case SelfManaged:
	}
	return nil
}

// NewIssuer returns the Issuer for Options.Management.
func NewIssuer(o Options) (Issuer, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if maker := o.Management.maker(); maker != nil {
		return external{newKeeper(o), maker}, nil
	}
	return &Self{newKeeper(o)}, nil
}

// versionOf returns a digest of public data.
func versionOf(certificate, authorities []byte) string {
	sum := sha256.New()
	sum.Write(certificate)
	sum.Write([]byte{0})
	sum.Write(authorities)
	return hex.EncodeToString(sum.Sum(nil))
}

// pendingRetry is the pause before a certificate that is not issued yet is requested again.
const pendingRetry = 5 * time.Second

func pending(format string, args ...any) error {
	err := fault.New(fault.Pending, ReasonPending, format, args...)
	err.RetryAfter = pendingRetry
	return err
}

func fieldOwner() client.FieldOwner { return shared.FieldManagerLifecycleManager }
