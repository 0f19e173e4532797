package certificates

import (
	"context"
	"crypto/x509"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/events/certificates/pki"
	"github.com/kyma-project/lifecycle-manager/internal/events/certificates/rotation"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// wanted describes a certificate to request.
type wanted struct {
	name, secret, commonName string
	names                    []string
	labels                   map[string]string
}

// maker is a kind of Certificate resource of an external issuer.
type maker interface {
	kind() schema.GroupVersionKind
	// spec returns the spec of the Certificate to request.
	spec(o Options, w wanted) map[string]any
	// status returns the issuer's status text for people.
	status(certificate *unstructured.Unstructured) string
	// renew requests another certificate with the same content, unless that was already requested.
	renew(ctx context.Context, o Options, certificate *unstructured.Unstructured) error
}

// external requests certificates from an external issuer with Certificate resources.
type external struct {
	*keeper
	maker maker
}

// Ensure implements Issuer.
func (e external) Ensure(ctx context.Context, request Request) (Issued, error) {
	labels, name := e.labelsOf(request.Namespace, request.Kyma), AgentCertificate(request.Kyma)
	secret, err := e.getSecret(ctx, name)
	if err != nil {
		return Issued{}, err
	}
	if secret != nil {
		if err := checkOwner(secret, request.Namespace, request.Kyma); err != nil {
			return Issued{}, err
		}
	}
	certificate, err := e.request(ctx, secret, request.Namespace, request.Kyma, wanted{
		name: name, secret: name, commonName: request.CommonName, names: request.DNSNames, labels: labels,
	})
	if err != nil {
		return Issued{}, err
	}
	pair := pairOf(secret)
	leaf, err := pair.Leaf()
	if err != nil || leaf.Subject.CommonName != request.CommonName || !pki.HasNames(leaf, request.DNSNames) || !e.Now().Before(leaf.NotAfter) {
		return Issued{}, pending("certificate %s/%s is not issued yet%s", e.Namespace, name, e.maker.status(certificate))
	}
	if pki.IsRevoked(leaf.SerialNumber, request.Revoked) {
		if err := e.maker.renew(ctx, e.Options, certificate); err != nil {
			return Issued{}, err
		}
		return Issued{}, pending("certificate %s/%s is revoked and has not been issued again yet%s", e.Namespace, name, e.maker.status(certificate))
	}
	authority := pki.AuthorityOf(pair.Certificate, pki.Parse(secret.Data[shared.CertificateAuthorityKey]))
	if authority == nil {
		return Issued{}, withoutAuthority(secret)
	}
	known, err := e.accepted(ctx, authority)
	if err != nil {
		return Issued{}, err
	}
	signer := pki.Fingerprint(authority)
	if err := e.mark(ctx, secret, merged(nil, e.marksOf(leaf, signer)), labels); err != nil {
		return Issued{}, err
	}
	if present, ok := known.State.In(rotation.Present); ok && present.Fingerprint != signer && leaf.NotBefore.Before(present.Since) {
		if a, has := known.State.Of(signer); has && a.Phase == rotation.Former {
			// The present certificate is used until the new one is issued. The former authority may have signed a certificate
			// after another authority became the present one. That certificate is not requested again, because its issuer has
			// two authorities.
			if err := e.maker.renew(ctx, e.Options, certificate); err != nil {
				return Issued{}, err
			}
		}
	}
	return issuedOf(pair, known.bundle(), signer), nil
}

func withoutAuthority(secret *corev1.Secret) error {
	return fault.New(fault.Rejected, ReasonNoAuthority, "key %s of Secret %s/%s does not contain the authority that signed its certificate",
		shared.CertificateAuthorityKey, secret.Namespace, secret.Name).
		WithHint("configure an issuer with its own certificate authority; public authorities are not trusted for events")
}

// accepted returns the trusted authorities after the listener trusts this authority as well.
func (e external) accepted(ctx context.Context, authority *x509.Certificate) (record, error) {
	signer := pki.Fingerprint(authority)
	known, err := e.loadCached(ctx)
	if err != nil {
		return record{}, err
	}
	if known.State.Accepts(signer, e.Now(), e.ListenerReload) {
		return known, nil
	}
	if _, err := e.settle(ctx, observation{seen: []*x509.Certificate{authority}}); err != nil {
		return record{}, err
	}
	if known, err = e.load(ctx, nil); err != nil {
		return record{}, err
	}
	if !known.State.Accepts(signer, e.Now(), e.ListenerReload) {
		return record{}, pending("the listener does not trust authority %s yet", short(signer))
	}
	return known, nil
}

// mark adds public facts about the certificate to the Secret as annotations and labels, and removes the marks of
// former issuers.
func (e external) mark(ctx context.Context, secret *corev1.Secret, annotations, labels map[string]string) error {
	former := e.others(secret)
	if contains(secret.Annotations, annotations) && contains(secret.Labels, labels) && len(former) == 0 {
		return nil
	}
	marked := secret.DeepCopy()
	marked.Annotations = merged(withoutMakers(marked.Annotations, former), annotations)
	marked.Labels = merged(withoutMakers(marked.Labels, former), labels)
	patch := client.MergeFromWithOptions(secret, client.MergeFromWithOptimisticLock{})
	return notWritten("mark", secret, e.Client.Patch(ctx, marked, patch, fieldOwner()))
}

// others returns the makers of a Secret other than this one.
func (e external) others(secret *corev1.Secret) []external {
	return slices.DeleteFunc(makers(secret), func(other external) bool { return other.maker.kind() == e.maker.kind() })
}

// request applies the Certificate as wanted, and returns it. It first removes what was requested from another issuer,
// so that only one issuer writes the Secret. secret is nil if it does not exist. kyma is empty for the listener's
// certificate.
func (e external) request(ctx context.Context, secret *corev1.Secret, namespace, kyma string, w wanted) (*unstructured.Unstructured, error) {
	found, err := e.get(ctx, w.name)
	if err != nil {
		return nil, err
	}
	former := e.others(secret)
	if found == nil { // this is the first request; the other issuer may not have issued anything yet
		former = slices.DeleteFunc(externals(), func(other external) bool { return other.maker.kind() == e.maker.kind() })
	}
	if err := e.removeCertificates(ctx, former, w.name, namespace, kyma); err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": e.maker.spec(e.Options, w)}}
	object.SetGroupVersionKind(e.maker.kind())
	object.SetNamespace(e.Namespace)
	object.SetName(w.name)
	object.SetLabels(w.labels)
	if found != nil {
		if kyma != "" {
			if err := checkOwner(found, namespace, kyma); err != nil {
				return nil, err
			}
		}
		if !found.GetDeletionTimestamp().IsZero() {
			return nil, pending("Certificate %s/%s is being deleted", e.Namespace, w.name)
		}
		if covers(found.Object["spec"], object.Object["spec"]) && contains(found.GetLabels(), w.labels) {
			return found, nil
		}
		object.SetUID(found.GetUID())
		object.SetResourceVersion(found.GetResourceVersion())
	}
	err = e.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), fieldOwner(), client.ForceOwnership)
	if err != nil {
		return nil, e.notWritten("apply", object, err)
	}
	return object, nil
}

// notWritten extends the function notWritten for Certificates: their kind may be missing in the control plane. A
// Certificate contains no secrets, so the API server's text about it is repeated.
func (e external) notWritten(verb string, object client.Object, err error) error {
	switch {
	case meta.IsNoMatchError(err):
		missing := fault.New(fault.Transient, ReasonNotInstalled, "the control plane does not serve Certificates of %s", e.maker.kind().GroupVersion()).
			WithHint("install the issuer, or choose another one with --cert-management")
		missing.SlowRetry = true
		return missing
	case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
		return fault.New(fault.Rejected, ReasonRefused, "%s Certificate %s/%s: %w", verb, object.GetNamespace(), object.GetName(), err)
	default:
		return notWritten(verb, object, err)
	}
}

// get reads a Certificate; nil if it does not exist.
func (e external) get(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(e.maker.kind())
	err := e.Client.Get(ctx, types.NamespacedName{Namespace: e.Namespace, Name: name}, found)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // a missing Certificate is an ordinary case
	case err != nil:
		found.SetNamespace(e.Namespace)
		found.SetName(name)
		return nil, e.notWritten("read", found, err)
	default:
		return found, nil
	}
}

// Remove implements Issuer.
func (e external) Remove(ctx context.Context, namespace, kyma string) error {
	name := AgentCertificate(kyma)
	secret, err := e.getSecret(ctx, name)
	if err != nil {
		return err
	}
	if err := e.removeCertificates(ctx, append(e.others(secret), e), name, namespace, kyma); err != nil {
		return err
	}
	return e.removeSecret(ctx, namespace, kyma)
}

// removeCertificates deletes the Certificates with this name of the given issuers, and returns a Pending fault until
// they no longer exist. kyma is empty for the listener's certificate.
func (k *keeper) removeCertificates(ctx context.Context, of []external, name, namespace, kyma string) error {
	for _, each := range of {
		each.keeper = k
		if err := each.removeCertificate(ctx, name, namespace, kyma); err != nil {
			return err
		}
	}
	return nil
}

func (e external) removeCertificate(ctx context.Context, name, namespace, kyma string) error {
	found, err := e.get(ctx, name)
	if fault.Of(err).Reason == ReasonNotInstalled {
		return nil // there is no Certificate, and no controller that would create the Secret
	}
	if err != nil || found == nil || kyma != "" && checkOwner(found, namespace, kyma) != nil {
		return err
	}
	if found.GetDeletionTimestamp().IsZero() {
		if err := e.deleteExact(ctx, found); err != nil {
			return err
		}
		if found, err = e.get(ctx, name); err != nil || found == nil {
			return err
		}
	}
	return pending("Certificate %s/%s is being deleted", e.Namespace, name)
}

// covers reports whether found contains everything in wanted. Servers and issuers add fields of their own.
func covers(found, wanted any) bool {
	fields, ok := wanted.(map[string]any)
	if !ok {
		return equality.Semantic.DeepEqual(found, wanted)
	}
	has, ok := found.(map[string]any)
	if !ok {
		return false
	}
	for key, value := range fields {
		if !covers(has[key], value) {
			return false
		}
	}
	return true
}

// list and object convert strings to the content of unstructured objects.
func list(of []string) []any {
	return lists.Map(of, func(each string) any { return each })
}

func object(of map[string]string) map[string]any {
	all := make(map[string]any, len(of))
	for key, value := range of {
		all[key] = value
	}
	return all
}

// says returns an issuer's texts as the end of a sentence.
func says(words ...string) string {
	text := ""
	for _, each := range words {
		if each != "" {
			text = fmt.Sprintf("%s: %s", text, each)
		}
	}
	return text
}
