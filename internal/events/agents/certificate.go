package agents

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
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
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
	// Restart has the agent's pods started again for each certificate: theirs read it when they start.
	Restart bool
}

// EnsureCertificate brings the Secret of the agent to a remote cluster, and returns how many writes that took. A certificate
// of an authority that the cluster's API server does not trust yet is held back, with a Pending fault: it could not call the
// agent, which it can with the one that is there. Authorities are brought in any case, for the listener's next certificate
// may be of a new one.
func EnsureCertificate(ctx context.Context, remote client.Client, wanted Secret) (int, error) {
	writes, used, err := ensureSecret(ctx, remote, wanted)
	if !wanted.Restart || len(used) == 0 {
		return writes, err
	}
	restarts, failed := ensureStartedWith(ctx, remote, wanted.Namespace, used)
	if failed != nil {
		return writes, failed
	}
	return writes + restarts, err
}

// ensureSecret brings the Secret, and also returns the certificate that is in it then; none where it could not be brought.
func ensureSecret(ctx context.Context, remote client.Client, wanted Secret) (writes int, used []byte, err error) {
	key := types.NamespacedName{Namespace: wanted.Namespace, Name: shared.AgentSecret}
	found := &corev1.Secret{}
	err = remote.Get(ctx, key, found)
	switch {
	case apierrors.IsNotFound(err):
		// Whatever somebody else has made meanwhile is left alone: this does not force.
		if writes, err = write(ctx, remote, "create", applied(wanted, corev1.SecretTypeTLS)); err != nil {
			return 0, nil, err
		}
		return writes, wanted.Certificate, nil
	case err != nil:
		return 0, nil, fmt.Errorf("read Secret %s: %w", key, err)
	case !found.DeletionTimestamp.IsZero():
		return 0, nil, fault.New(fault.Transient, ReasonNotWritten, "Secret %s is being deleted", key)
	case !isOurs(found):
		return 0, nil, fault.New(fault.Rejected, ReasonNotWritten, "Secret %s of the remote cluster was made by somebody else, and is in the way of the agent's", key)
	case is(found, wanted):
		return 0, wanted.Certificate, nil
	}
	held := false
	if !bytes.Equal(found.Data[shared.CertificateKey], wanted.Certificate) {
		if held, err = isHeldBack(ctx, remote, found.Data[shared.CertificateKey], wanted.Certificate); err != nil {
			return 0, nil, err
		}
		if held {
			wanted.Certificate, wanted.PrivateKey = found.Data[shared.CertificateKey], found.Data[shared.PrivateKeyKey]
			wanted.Version = found.Annotations[AnnotationVersion]
		}
	}
	if !is(found, wanted) {
		configuration := applied(wanted, found.Type).WithUID(found.UID).WithResourceVersion(found.ResourceVersion)
		if writes, err = write(ctx, remote, "update", configuration, client.ForceOwnership); err != nil {
			return 0, nil, err
		}
	}
	if held {
		return writes, wanted.Certificate, fault.New(fault.Pending, ReasonHeldBack, "the certificate of a new authority waits until the remote cluster trusts it")
	}
	return writes, wanted.Certificate, nil
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

// trustedBy are the authorities by which the API server of a remote cluster checks the agent, one pool for each webhook. Where
// the RemoteAgent was applied, only what it applied counts: what others add beside that, nobody here can give another
// authority. Before that it is all that upstream has there. There are none where there is no webhook yet: the certificate
// comes first.
func trustedBy(ctx context.Context, remote client.Client) ([]*x509.CertPool, error) {
	configuration := &admissionv1.ValidatingWebhookConfiguration{}
	if err := remote.Get(ctx, types.NamespacedName{Name: shared.AgentName}, configuration); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("read the webhooks of the agent: %w", err)
	}
	own := inventory.OwnEntry(configuration.ManagedFields)
	var pools []*x509.CertPool
	for i := range configuration.Webhooks {
		webhook := &configuration.Webhooks[i]
		if own != nil && !inventory.FieldsIn(own).Has(fieldpath.MakePathOrDie("webhooks", fieldpath.KeyByFields("name", webhook.Name))) {
			continue
		}
		authorities := x509.NewCertPool()
		authorities.AppendCertsFromPEM(webhook.ClientConfig.CABundle)
		pools = append(pools, authorities)
	}
	return pools, nil
}

// isTrusted tells whether an API server accepts a certificate of the agent for each of its webhooks.
func isTrusted(certificate []byte, by []*x509.CertPool) (bool, error) {
	leaf, intermediates, err := parse(certificate)
	if err != nil {
		return false, err
	}
	for _, authorities := range by {
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: authorities, Intermediates: intermediates, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}); err != nil {
			return false, nil //nolint:nilerr // that is what was asked
		}
	}
	return true, nil
}

// isHeldBack tells whether a certificate has to wait: the API server would refuse it, and accepts the present one.
func isHeldBack(ctx context.Context, remote client.Client, present, next []byte) (bool, error) {
	by, err := trustedBy(ctx, remote)
	if err != nil {
		return false, err
	}
	trusted, err := isTrusted(next, by)
	if err != nil {
		return false, fault.New(fault.Transient, ReasonNotWritten, "the certificate that was issued cannot be read: %w", err)
	}
	if trusted {
		return false, nil
	}
	works, err := isTrusted(present, by)
	return works && err == nil, nil
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
