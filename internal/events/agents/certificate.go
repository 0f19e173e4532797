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
	// AnnotationVersion on the Secret in the remote cluster is the version of the issued certificate and authorities.
	AnnotationVersion = shared.OperatorGroup + "/certificate-version"
	// ReasonHeldBack means that the certificate waits until the API server trusts its new authority.
	ReasonHeldBack = "AgentCertificateHeldBack"
	// ReasonNotWritten means that the remote cluster refuses the Secret.
	ReasonNotWritten = "AgentCertificateRefused"
)

// Secret is the desired Secret skr-webhook-tls.
type Secret struct {
	Namespace                            string
	Annotations                          map[string]string
	Certificate, PrivateKey, Authorities []byte
	// Version changes whenever one of the fields above changes.
	Version string
	// Restart is true if the agent's pods must be restarted for each certificate, because they read it only when they
	// start.
	Restart bool
}

// EnsureCertificate applies the agent's Secret in a remote cluster and returns the number of writes. If the cluster's
// API server does not trust the authority of a new certificate yet, EnsureCertificate keeps the present certificate
// and returns a Pending fault. With the new one, the API server could no longer call the agent. Authorities are
// always written, because the listener's next certificate may be signed by a new one.
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

// ensureSecret applies the Secret. It also returns the certificate that the Secret then has; nil if it could not be
// applied.
func ensureSecret(ctx context.Context, remote client.Client, wanted Secret) (writes int, used []byte, err error) {
	key := types.NamespacedName{Namespace: wanted.Namespace, Name: shared.AgentSecret}
	found := &corev1.Secret{}
	err = remote.Get(ctx, key, found)
	switch {
	case apierrors.IsNotFound(err):
		// This apply does not force, so a Secret that somebody else has created meanwhile is left alone.
		if writes, err = write(ctx, remote, "create", applied(wanted, corev1.SecretTypeTLS)); err != nil {
			return 0, nil, err
		}
		return writes, wanted.Certificate, nil
	case err != nil:
		return 0, nil, fmt.Errorf("read Secret %s: %w", key, err)
	case !found.DeletionTimestamp.IsZero():
		return 0, nil, fault.New(fault.Transient, ReasonNotWritten, "Secret %s is being deleted", key)
	case !isOurs(found):
		return 0, nil, fault.New(fault.Rejected, ReasonNotWritten, "Secret %s of the remote cluster belongs to somebody else and blocks the agent's Secret: delete it, or create it again under another name", key)
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

// applied returns all fields of the Secret that are ours. They are applied together, so that the cluster records that
// we own all of them.
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

// is reports whether a Secret is as desired, and the cluster records that we own its fields. Otherwise a change of it
// would go unnoticed.
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

// trustedBy returns the authorities with which the API server of a remote cluster checks the agent, one pool for each
// webhook. After the RemoteAgent was applied, only the webhooks that it applied count, because we cannot update the
// authorities of others. Before that, all of upstream's webhooks count. There are no pools if there is no webhook
// yet, because the certificate comes first.
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

// isTrusted reports whether an API server accepts a certificate of the agent for each of its webhooks.
func isTrusted(certificate []byte, by []*x509.CertPool) (bool, error) {
	leaf, intermediates, err := parse(certificate)
	if err != nil {
		return false, err
	}
	for _, authorities := range by {
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: authorities, Intermediates: intermediates, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}); err != nil {
			return false, nil //nolint:nilerr // a failed verification is an answer
		}
	}
	return true, nil
}

// isHeldBack reports whether a new certificate has to wait, because the API server would refuse it and accepts the
// present one.
func isHeldBack(ctx context.Context, remote client.Client, present, next []byte) (bool, error) {
	by, err := trustedBy(ctx, remote)
	if err != nil {
		return false, err
	}
	trusted, err := isTrusted(next, by)
	if err != nil {
		return false, fault.New(fault.Transient, ReasonNotWritten, "cannot read the issued certificate: %w", err)
	}
	if trusted {
		return false, nil
	}
	works, err := isTrusted(present, by)
	return works && err == nil, nil
}

// parse reads a certificate and the intermediate certificates after it.
func parse(chain []byte) (*x509.Certificate, *x509.CertPool, error) {
	var ders [][]byte
	for block, rest := pem.Decode(chain); block != nil; block, rest = pem.Decode(rest) {
		ders = append(ders, block.Bytes)
	}
	if len(ders) == 0 {
		return nil, nil, errors.New("the certificate is not in PEM format")
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

// notWritten returns a fault that leaves out what the API server says about the content of a refused Secret.
func notWritten(verb string, key types.NamespacedName, err error) error {
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		return fault.New(fault.Rejected, ReasonNotWritten, "%s Secret %s: the cluster refuses its content", verb, key)
	}
	return fmt.Errorf("%s Secret %s: %w", verb, key, err)
}
