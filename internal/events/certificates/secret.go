package certificates

import (
	"context"
	"crypto/rsa"
	"crypto/x509"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/events/certificates/pki"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// labelsOf returns the labels of an agent's certificate, for its Secret and its Certificate.
func (o Options) labelsOf(namespace, kyma string) map[string]string {
	return map[string]string{
		shared.LabelKymaName: kyma, LabelKymaNamespace: namespace,
		shared.LabelManagedBy: o.ManagedBy, shared.LabelPurpose: PurposeAgent,
	}
}

// checkOwner refuses an object that is for another Kyma. An object without labels was created by an earlier release
// or by upstream, and is accepted.
func checkOwner(object client.Object, namespace, kyma string) error {
	name, hasName := object.GetLabels()[shared.LabelKymaName]
	of, hasNamespace := object.GetLabels()[LabelKymaNamespace]
	if hasName && name != kyma || hasNamespace && of != namespace {
		return fault.New(fault.Rejected, ReasonNameTaken, "%s %s/%s is the certificate of Kyma %s/%s and cannot be used for Kyma %s/%s as well",
			kindOf(object), object.GetNamespace(), object.GetName(), of, name, namespace, kyma).
			WithHint("only one of several Kymas with the same name can have an agent: rename this Kyma")
	}
	return nil
}

func kindOf(object client.Object) string {
	if _, ok := object.(*corev1.Secret); ok {
		return "Secret"
	}
	return object.GetObjectKind().GroupVersionKind().Kind
}

// getSecret reads a Secret; nil if it does not exist.
func (o Options) getSecret(ctx context.Context, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := o.Client.Get(ctx, types.NamespacedName{Namespace: o.Namespace, Name: name}, secret)
	if err != nil {
		return nil, client.IgnoreNotFound(fmt.Errorf("read Secret %s/%s: %w", o.Namespace, name, err))
	}
	return secret, nil
}

// putSecret creates a Secret, or updates the one that was read.
func (o Options) putSecret(ctx context.Context, secret *corev1.Secret) error {
	if secret.ResourceVersion == "" {
		return notWritten("create", secret, o.Client.Create(ctx, secret, fieldOwner()))
	}
	return notWritten("update", secret, o.Client.Update(ctx, secret, fieldOwner()))
}

// notWritten returns a fault that leaves out what the API server says about the content of a refused object.
func notWritten(verb string, object client.Object, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
		return fault.New(fault.Rejected, ReasonRefused, "%s %s %s/%s: the control plane refuses its content", verb, kindOf(object), object.GetNamespace(), object.GetName())
	case apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err):
		return fault.New(fault.Transient, "Conflict", "%s %s %s/%s: somebody else wrote it meanwhile", verb, kindOf(object), object.GetNamespace(), object.GetName())
	default:
		return fmt.Errorf("%s %s %s/%s: %w", verb, kindOf(object), object.GetNamespace(), object.GetName(), err)
	}
}

// deleteExact deletes an object, with the uid and resource version that were read as preconditions.
func (o Options) deleteExact(ctx context.Context, object client.Object) error {
	uid, version := object.GetUID(), object.GetResourceVersion()
	err := o.Client.Delete(ctx, object, client.Preconditions{UID: &uid, ResourceVersion: &version})
	return notWritten("delete", object, client.IgnoreNotFound(err))
}

// removeSecret deletes the Secret of an agent.
func (o Options) removeSecret(ctx context.Context, namespace, kyma string) error {
	secret, err := o.getSecret(ctx, AgentCertificate(kyma))
	if err != nil || secret == nil || checkOwner(secret, namespace, kyma) != nil {
		return err
	}
	return o.deleteExact(ctx, secret)
}

func pairOf(secret *corev1.Secret) pki.Pair {
	if secret == nil {
		return pki.Pair{}
	}
	return pki.Pair{Certificate: secret.Data[shared.CertificateKey], PrivateKey: secret.Data[shared.PrivateKeyKey]}
}

// marksOf returns the annotations of an agent's Secret.
func (o Options) marksOf(leaf *x509.Certificate, signer string) map[string]string {
	return map[string]string{
		AnnotationSigner:   signer,
		AnnotationNotAfter: leaf.NotAfter.UTC().Format(time.RFC3339),
		AnnotationRenewal:  o.renewalOf(leaf.NotBefore, leaf.NotAfter).UTC().Format(time.RFC3339),
	}
}

// contains reports whether all contains every entry of these.
func contains(all, these map[string]string) bool {
	for key, value := range these {
		if found, has := all[key]; !has || found != value {
			return false
		}
	}
	return true
}

func merged(all, others map[string]string) map[string]string { return labels.Merge(all, others) }

// isMismatched returns why a certificate differs from the request; empty if it does not.
func (o Options) isMismatched(leaf *x509.Certificate, commonName string, names []string) string {
	switch key, isRSA := leaf.PublicKey.(*rsa.PublicKey); {
	case leaf.Subject.CommonName != commonName:
		return "it has another common name"
	case !pki.HasNames(leaf, names):
		return "it has other names"
	case o.NewKey == nil && (!isRSA || key.N.BitLen() != o.KeySize):
		return "its key has another size"
	default:
		return ""
	}
}

// whyIssue returns why an agent's certificate has to be issued; empty if the held one can stay.
func (o Options) whyIssue(held pki.Pair, request Request, heldSigner, signer string, now time.Time) string {
	leaf, err := held.Leaf()
	if err != nil {
		return "there is no usable certificate"
	}
	switch {
	case o.isMismatched(leaf, request.CommonName, request.DNSNames) != "":
		return o.isMismatched(leaf, request.CommonName, request.DNSNames)
	case pki.IsRevoked(leaf.SerialNumber, request.Revoked):
		return "it is revoked"
	case heldSigner != signer:
		return "the present authority did not sign it"
	case !now.Before(o.renewalOf(leaf.NotBefore, leaf.NotAfter)):
		return "it has to be renewed"
	default:
		return ""
	}
}

// externals returns all external issuers, without a keeper.
func externals() []external { return []external{{maker: certManager{}}, {maker: gardener{}}} }

// marks reports whether an issuer marks the Secrets that it creates with this label or annotation.
func (e external) marks(key string) bool {
	prefix := e.maker.kind().Group + "/"
	return strings.HasPrefix(key, prefix) || strings.HasPrefix(key, "controller."+prefix)
}

// makers returns the external issuers that created a Secret, according to their marks. The Secret may be nil.
func makers(secret *corev1.Secret) []external {
	if secret == nil {
		return nil
	}
	return slices.DeleteFunc(externals(), func(e external) bool {
		return !slices.ContainsFunc(slices.Concat(slices.Collect(maps.Keys(secret.Labels)), slices.Collect(maps.Keys(secret.Annotations))), e.marks)
	})
}

// withoutMakers removes the marks of these issuers.
func withoutMakers(marks map[string]string, of []external) map[string]string {
	maps.DeleteFunc(marks, func(key, _ string) bool {
		return slices.ContainsFunc(of, func(e external) bool { return e.marks(key) })
	})
	return marks
}

func objectMeta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}
