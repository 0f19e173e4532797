package certificates

import (
	"bytes"
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/events/certificates/pki"
)

// Self issues certificates of our own authority. Rotation creates and replaces that authority.
type Self struct{ *keeper }

// Ensure implements Issuer. If the present certificate has to be replaced, Ensure signs a new one at once.
func (s *Self) Ensure(ctx context.Context, request Request) (Issued, error) {
	known, err := s.loadCached(ctx)
	if err != nil {
		return Issued{}, err
	}
	secret, err := s.getSecret(ctx, AgentCertificate(request.Kyma))
	if err != nil {
		return Issued{}, err
	}
	if secret != nil {
		if err := checkOwner(secret, request.Namespace, request.Kyma); err != nil {
			return Issued{}, err
		}
	}
	if issued, fine := s.held(secret, request, known); fine {
		return issued, nil
	}
	return s.issue(ctx, request, secret)
}

// held returns the content of the Secret, and whether it can stay.
func (s *Self) held(secret *corev1.Secret, request Request, known record) (Issued, bool) {
	now := s.Now()
	signer, can := known.State.Signer(now, s.ListenerReload)
	if secret == nil || !can || len(makers(secret)) > 0 {
		return Issued{}, false
	}
	pair := pairOf(secret)
	if s.whyIssue(pair, request, known.signerOf(pair.Certificate), signer.Fingerprint, now) != "" {
		return Issued{}, false
	}
	bundle, marks, labels := known.bundle(), s.marksOf(pki.Parse(pair.Certificate)[0], signer.Fingerprint), s.labelsOf(request.Namespace, request.Kyma)
	if !bytes.Equal(secret.Data[shared.CertificateAuthorityKey], bundle) || !contains(secret.Annotations, marks) || !contains(secret.Labels, labels) {
		return Issued{}, false
	}
	return issuedOf(pair, bundle, signer.Fingerprint), true
}

// issue writes the Secret. It keeps the certificate if that can stay, and signs a new one otherwise.
func (s *Self) issue(ctx context.Context, request Request, secret *corev1.Secret) (Issued, error) {
	known, err := s.load(ctx, nil)
	if err != nil {
		return Issued{}, err
	}
	now := s.Now()
	signer, can := known.State.Signer(now, s.ListenerReload)
	if !can {
		return Issued{}, pending("no authority can sign the certificate of Kyma %s/%s yet: the workflow %q creates one", request.Namespace, request.Kyma, "certificates")
	}
	if secret == nil {
		secret = &corev1.Secret{ObjectMeta: objectMeta(s.Namespace, AgentCertificate(request.Kyma)), Type: corev1.SecretTypeTLS}
	}
	if err := s.removeCertificates(ctx, makers(secret), secret.Name, request.Namespace, request.Kyma); err != nil {
		return Issued{}, err
	}
	pair := pairOf(secret)
	if s.whyIssue(pair, request, known.signerOf(pair.Certificate), signer.Fingerprint, now) != "" {
		if pair, err = s.sign(known, signer.Fingerprint, request); err != nil {
			return Issued{}, err
		}
	}
	bundle := known.bundle()
	secret.Labels = merged(withoutMakers(secret.Labels, externals()), s.labelsOf(request.Namespace, request.Kyma))
	secret.Annotations = merged(withoutMakers(secret.Annotations, externals()), s.marksOf(pki.Parse(pair.Certificate)[0], signer.Fingerprint))
	secret.Data = map[string][]byte{
		shared.CertificateKey: pair.Certificate, shared.PrivateKeyKey: pair.PrivateKey, shared.CertificateAuthorityKey: bundle,
	}
	if err := s.putSecret(ctx, secret); err != nil {
		return Issued{}, err
	}
	return issuedOf(pair, bundle, signer.Fingerprint), nil
}

func (s *Self) sign(known record, signer string, request Request) (pki.Pair, error) {
	key, err := s.newKey()
	if err != nil {
		return pki.Pair{}, err
	}
	now := s.Now()
	return known.pair(signer).Sign(key, now, pki.Template{
		CommonName: request.CommonName, Names: request.DNSNames, Client: true, NotAfter: now.Add(s.Duration),
	})
}

// Remove implements Issuer.
func (s *Self) Remove(ctx context.Context, namespace, kyma string) error {
	secret, err := s.getSecret(ctx, AgentCertificate(kyma))
	if err != nil || secret == nil {
		return err
	}
	if err := s.removeCertificates(ctx, makers(secret), secret.Name, namespace, kyma); err != nil {
		return err
	}
	return s.removeSecret(ctx, namespace, kyma)
}

func issuedOf(pair pki.Pair, bundle []byte, signer string) Issued {
	return Issued{
		Certificate: pair.Certificate, PrivateKey: pair.PrivateKey, Authorities: bundle,
		NotAfter: pki.Parse(pair.Certificate)[0].NotAfter, Version: versionOf(pair.Certificate, bundle), Signer: signer,
	}
}
