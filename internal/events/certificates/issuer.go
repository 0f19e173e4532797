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
	// AuthoritySecret has the authorities that agents and listener trust, and the private keys of ours.
	AuthoritySecret = "klm-watcher-authority"
	// ListenerCertificate is the Certificate that asks another issuer for the listener's, and ListenerCertificateSecret the
	// Secret that it is issued in.
	ListenerCertificate       = "klm-listener"
	ListenerCertificateSecret = "klm-listener-tls"
	// UpstreamAuthoritySecret has the authority by which upstream's issuer signs, and which is its gateway's certificate as well.
	UpstreamAuthoritySecret = "klm-watcher"
)

// AgentCertificate is the name of the Certificate and Secret of the agent of a Kyma.
func AgentCertificate(kyma string) string { return desired.CertificateName(kyma) }

// Labels and annotations of the Secrets of agents, beside the labels `kyma-name` and `managed-by`. None has a secret.
const (
	// LabelKymaNamespace is the namespace of the Kyma.
	LabelKymaNamespace = shared.OperatorGroup + "/kyma-namespace"
	// PurposeAgent and PurposeListener are values of the label `purpose`.
	PurposeAgent    = "agent-certificate"
	PurposeListener = "listener-certificate"
	// purposeUpstream is its value on the Secrets that upstream has made for agents.
	purposeUpstream = "klm-watcher-cert-manager"
	// AnnotationSigner is the fingerprint of the authority that signed the certificate.
	AnnotationSigner = shared.OperatorGroup + "/certificate-signer"
	// AnnotationNotAfter is when the certificate expires, AnnotationRenewal when it is to be renewed; both RFC 3339.
	AnnotationNotAfter = shared.OperatorGroup + "/certificate-not-after"
	AnnotationRenewal  = shared.OperatorGroup + "/certificate-renewal"
	// AnnotationRotate on the Secret of authorities, with any value, asks for another authority of ours. It is taken away
	// when that is made.
	AnnotationRotate = shared.OperatorGroup + "/rotate-authority"
)

// Reasons of faults.
const (
	// ReasonPending: the certificate is not issued yet.
	ReasonPending = "CertificatePending"
	// ReasonNameTaken: the certificate's name is used for another Kyma.
	ReasonNameTaken = "CertificateNameTaken"
	// ReasonNoAuthority: the issuer does not say which authority signed.
	ReasonNoAuthority = "CertificateWithoutAuthority"
	// ReasonUnreadable: the Secret of authorities cannot be read.
	ReasonUnreadable = "AuthoritiesUnreadable"
	// ReasonNotInstalled: the control plane does not have the issuer's kinds.
	ReasonNotInstalled = "IssuerNotInstalled"
	// ReasonRefused: the control plane refuses an object.
	ReasonRefused = "CertificateRefused"
)

// Request says which certificate an agent needs.
type Request struct {
	// Namespace and Kyma name the Kyma.
	Namespace, Kyma string
	// CommonName is the runtime id.
	CommonName string
	// DNSNames are those of the agent's webhook.
	DNSNames []string
	// Revoked has the serial numbers of certificates that are not to be used any more (pki.IsRevoked).
	Revoked string
}

// Issued is what an agent needs.
type Issued struct {
	// Certificate and PrivateKey are the agent's, Authorities whom it trusts, and by whom it may be trusted; all in PEM.
	Certificate, PrivateKey, Authorities []byte
	// NotAfter is when the certificate expires.
	NotAfter time.Time
	// Version changes whenever any of that does. It has no secret in it.
	Version string
	// Signer is the fingerprint of the authority that signed the certificate.
	Signer string
}

// String leaves out what is secret.
func (i Issued) String() string { return fmt.Sprintf("certificate %s until %s", i.Version, i.NotAfter) }

// GoString is String.
func (i Issued) GoString() string { return i.String() }

// Issuer issues the certificates of agents.
type Issuer interface {
	// Ensure asks for the certificate and returns it, once agent and listener accept each other with it; until then it
	// returns a Pending fault. Where all is as it should be it writes nothing.
	Ensure(ctx context.Context, request Request) (Issued, error)
	// Remove removes the certificate of the agent of a Kyma: first what would make the Secret again, then the Secret.
	// What belongs to a Kyma of that name in another namespace stays.
	Remove(ctx context.Context, namespace, kyma string) error
}

// maker is how an issuer of somebody else's is asked; nil where we sign ourselves.
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

// NewIssuer returns the issuer that Options.Management names.
func NewIssuer(o Options) (Issuer, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if maker := o.Management.maker(); maker != nil {
		return external{newKeeper(o), maker}, nil
	}
	return &Self{newKeeper(o)}, nil
}

// versionOf is a digest of what is public.
func versionOf(certificate, authorities []byte) string {
	sum := sha256.New()
	sum.Write(certificate)
	sum.Write([]byte{0})
	sum.Write(authorities)
	return hex.EncodeToString(sum.Sum(nil))
}

// pendingRetry is when to ask again for what is not issued yet.
const pendingRetry = 5 * time.Second

func pending(format string, args ...any) error {
	err := fault.New(fault.Pending, ReasonPending, format, args...)
	err.RetryAfter = pendingRetry
	return err
}

func fieldOwner() client.FieldOwner { return shared.FieldManagerLifecycleManager }
