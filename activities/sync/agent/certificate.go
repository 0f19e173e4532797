package agent

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/api/shared"
)

const (
	// AnnotationVersion on the Secret in the remote cluster is the version of what was issued.
	AnnotationVersion = shared.OperatorGroup + "/certificate-version"
	// ReasonHeldBack: the certificate of a new authority waits until the API server trusts that one.
	ReasonHeldBack = "AgentCertificateHeldBack"
	// ReasonNotWritten: the remote cluster refuses the Secret.
	ReasonNotWritten = "AgentCertificateRefused"
)

// Secret is the Secret skr-webhook-tls as it is to be.
type Secret struct {
	Namespace                            string
	Annotations                          map[string]string
	Certificate, PrivateKey, Authorities []byte
	// Version changes whenever any of these does.
	Version string
}

// EnsureCertificate brings the Secret of the agent to a remote cluster, and returns how many writes that took. A certificate
// of an authority that the cluster's API server does not trust yet is held back, with a Pending fault: it could not call the
// agent. Authorities are brought in any case, for the listener's next certificate may be of a new one.
func EnsureCertificate(ctx context.Context, remote client.Client, wanted Secret) (int, error) {
	key := types.NamespacedName{Namespace: wanted.Namespace, Name: shared.AgentSecret}
	found := &corev1.Secret{}
	err := remote.Get(ctx, key, found)
	switch {
	case apierrors.IsNotFound(err):
		// Whatever somebody else has made meanwhile is left alone: this does not force.
		return write(ctx, remote, "create", applied(wanted, corev1.SecretTypeTLS))
	case err != nil:
		return 0, fmt.Errorf("read Secret %s: %w", key, err)
	case !found.DeletionTimestamp.IsZero():
		return 0, fault.New(fault.Transient, ReasonNotWritten, "Secret %s is being deleted", key)
	case !isOurs(found):
		return 0, fault.New(fault.Rejected, ReasonNotWritten, "Secret %s of the remote cluster was made by somebody else, and is in the way of the agent's", key)
	case is(found, wanted):
		return 0, nil
	}
	held := false
	if !bytes.Equal(found.Data[shared.CertificateKey], wanted.Certificate) {
		trusted, err := trusts(ctx, remote, wanted.Certificate)
		if err != nil {
			return 0, err
		}
		if held = !trusted; held {
			wanted.Certificate, wanted.PrivateKey = found.Data[shared.CertificateKey], found.Data[shared.PrivateKeyKey]
			wanted.Version = found.Annotations[AnnotationVersion]
		}
	}
	writes := 0
	if !is(found, wanted) {
		configuration := applied(wanted, found.Type).WithUID(found.UID).WithResourceVersion(found.ResourceVersion)
		if writes, err = write(ctx, remote, "update", configuration, client.ForceOwnership); err != nil {
			return 0, err
		}
	}
	if held {
		return writes, fault.New(fault.Pending, ReasonHeldBack, "the certificate of a new authority waits until the remote cluster trusts it")
	}
	return writes, nil
}

// applied is what is ours in the Secret. It is applied as a whole, so that the cluster takes note that all of it is ours.
func applied(wanted Secret, kind corev1.SecretType) *applycorev1.SecretApplyConfiguration {
	return applycorev1.Secret(shared.AgentSecret, wanted.Namespace).WithType(kind).
		WithLabels(map[string]string{shared.LabelManagedBy: shared.ManagedByKyma}).
		WithAnnotations(wanted.Annotations).WithAnnotations(map[string]string{AnnotationVersion: wanted.Version}).
		WithData(data(wanted))
}

func write(ctx context.Context, remote client.Client, verb string, secret *applycorev1.SecretApplyConfiguration, options ...client.ApplyOption) (int, error) {
	err := remote.Apply(ctx, secret, append(options, client.FieldOwner(shared.FieldManagerLifecycleManager))...)
	if err != nil {
		return 0, notWritten(verb, types.NamespacedName{Namespace: *secret.Namespace, Name: *secret.Name}, err)
	}
	return 1, nil
}

func data(wanted Secret) map[string][]byte {
	return map[string][]byte{
		shared.CertificateKey: wanted.Certificate, shared.PrivateKeyKey: wanted.PrivateKey, shared.CertificateAuthorityKey: wanted.Authorities,
	}
}

// is tells whether a Secret is as it is to be, and known to the cluster as ours: else nobody would see it changed.
func is(found *corev1.Secret, wanted Secret) bool {
	for key, value := range data(wanted) {
		if !bytes.Equal(found.Data[key], value) {
			return false
		}
	}
	for key, value := range wanted.Annotations {
		if found.Annotations[key] != value {
			return false
		}
	}
	return found.Annotations[AnnotationVersion] == wanted.Version && isAsApplied(found, wanted.Annotations)
}

// trusts tells whether the API server of a remote cluster would accept a certificate of the agent: the authorities of each
// webhook have the one that signed it. Where there is no webhook yet, the certificate comes first.
func trusts(ctx context.Context, remote client.Client, certificate []byte) (bool, error) {
	leaf, intermediates, err := parse(certificate)
	if err != nil {
		return false, fault.New(fault.Transient, ReasonNotWritten, "the certificate that was issued cannot be read: %w", err)
	}
	configuration := &admissionv1.ValidatingWebhookConfiguration{}
	if err := remote.Get(ctx, types.NamespacedName{Name: shared.AgentName}, configuration); apierrors.IsNotFound(err) {
		return true, nil
	} else if err != nil {
		return false, fmt.Errorf("read the webhooks of the agent: %w", err)
	}
	for i := range configuration.Webhooks {
		authorities := x509.NewCertPool()
		authorities.AppendCertsFromPEM(configuration.Webhooks[i].ClientConfig.CABundle)
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: authorities, Intermediates: intermediates, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}); err != nil {
			return false, nil //nolint:nilerr // that is what was asked
		}
	}
	return true, nil
}

// parse reads a certificate and those that come after it.
func parse(chain []byte) (*x509.Certificate, *x509.CertPool, error) {
	var ders [][]byte
	for block, rest := pem.Decode(chain); block != nil; block, rest = pem.Decode(rest) {
		ders = append(ders, block.Bytes)
	}
	if len(ders) == 0 {
		return nil, nil, errors.New("it is not PEM")
	}
	leaf, err := x509.ParseCertificate(ders[0])
	if err != nil {
		return nil, nil, err
	}
	intermediates := x509.NewCertPool()
	for _, der := range ders[1:] {
		between, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, nil, err
		}
		intermediates.AddCert(between)
	}
	return leaf, intermediates, nil
}

// notWritten leaves out what an API server says about the content of a Secret that it refuses.
func notWritten(verb string, key types.NamespacedName, err error) error {
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		return fault.New(fault.Rejected, ReasonNotWritten, "%s Secret %s: the cluster refuses its content", verb, key)
	}
	return fmt.Errorf("%s Secret %s: %w", verb, key, err)
}
