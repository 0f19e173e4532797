package fleet

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// kindSecret is the kind of a Secret in kicks.
const kindSecret = "Secret"

// absence is how long to wait for an unknown access Secret, because it may have just been created.
const absence = time.Second

// SecretMetadata returns the object under which Secrets are watched and cached: metadata only. Caches never contain the
// content of a Secret.
func SecretMetadata() *metav1.PartialObjectMetadata {
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kindSecret))
	return secret
}

// Secrets returns the access Secrets for Kymas with this name in a namespace, sorted by name, with the versions that
// the informer knows.
func (f *Fleet) Secrets(ctx context.Context, namespace, kymaName string) ([]desired.SecretVersion, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kindSecret + "List"))
	err := f.known.List(ctx, list, client.InNamespace(namespace), f.by(IndexKymaName, kymaName, shared.LabelKymaName, kymaName), client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("find the access Secrets of Kyma %s in namespace %s: %w", kymaName, namespace, err)
	}
	versions := make([]desired.SecretVersion, 0, len(list.Items))
	for i := range list.Items {
		secret := &list.Items[i]
		if secret.Name == desired.CertificateName(kymaName) {
			continue // the certificate of the agent has the same label
		}
		versions = append(versions, desired.SecretVersion{Namespace: secret.Namespace, Name: secret.Name, UID: secret.UID, ResourceVersion: secret.ResourceVersion})
	}
	slices.SortFunc(versions, func(a, b desired.SecretVersion) int { return cmp.Compare(a.Name, b.Name) })
	return versions, nil
}

// AwaitSecrets waits until the informer of access Secrets has the versions from kicks. Its error is Transient.
func (f *Fleet) AwaitSecrets(ctx context.Context, seen []desired.Seen) error {
	for _, one := range seen {
		if one.Kind == kindSecret && !f.Await(ctx, SecretMetadata(), one.Namespace, one.ResourceVersion) {
			return behind("access Secrets", one.ResourceVersion)
		}
	}
	return nil
}

// AccessSecrets returns the Secrets for Kymas with this name from the first of these namespaces that has any. If none
// has any, it retries for a moment: no automatic reconcile follows for a Kyma without a Secret, and the informer may
// not know a Secret yet that was created right before the Kyma.
func (f *Fleet) AccessSecrets(ctx context.Context, namespaces []string, kymaName string) ([]desired.SecretVersion, error) {
	var found []desired.SecretVersion
	has := func(ctx context.Context) (bool, error) {
		for _, namespace := range namespaces {
			var err error
			if found, err = f.Secrets(ctx, namespace, kymaName); err != nil || len(found) > 0 {
				return true, err
			}
		}
		return f.IsLive(), nil
	}
	err := wait.PollUntilContextTimeout(ctx, absence/10, absence, true, has)
	if wait.Interrupted(err) && ctx.Err() == nil {
		err = nil
	}
	return found, err
}

// SecretsVersion returns the resource version up to which the informer of access Secrets knows everything. Later live
// reads are at least as current. It is empty if the version is unknown.
func (f *Fleet) SecretsVersion(ctx context.Context) string {
	if f.IsLive() {
		return ""
	}
	return f.version(ctx, SecretMetadata(), metav1.NamespaceAll)
}

// KymasNamed returns the Kymas with a name in all namespaces. It waits until the informer knows this Kyma, because it
// then knows all that were created before. If the informer does not get there in time, the error is Transient. Callers
// must not change the Kymas.
func (f *Fleet) KymasNamed(ctx context.Context, kyma client.ObjectKey) ([]client.Object, error) {
	if f.IsLive() {
		return f.listKymas(ctx, kyma.Name)
	}
	var list v1beta2.KymaList
	err := wait.PollUntilContextTimeout(ctx, pause, patience, true, func(ctx context.Context) (bool, error) {
		err := f.known.List(ctx, &list, client.MatchingFields{IndexName: kyma.Name}, client.UnsafeDisableDeepCopy)
		return slices.ContainsFunc(list.Items, func(k v1beta2.Kyma) bool { return k.Namespace == kyma.Namespace }), err
	})
	switch {
	case wait.Interrupted(err) && ctx.Err() == nil:
		return nil, fault.New(fault.Transient, ReasonBehind, "the informer of Kymas does not know of Kyma %s yet", kyma)
	case err != nil:
		return nil, fmt.Errorf("find the Kymas named %s: %w", kyma.Name, err)
	}
	return lists.Map(lists.Pointers(list.Items), func(kyma *v1beta2.Kyma) client.Object { return kyma }), nil
}

// listKymas is KymasNamed without an informer.
func (f *Fleet) listKymas(ctx context.Context, name string) ([]client.Object, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(v1beta2.GroupVersion.WithKind(shared.KindKyma + "List"))
	if err := f.live.List(ctx, list, client.MatchingFields{"metadata.name": name}); err != nil {
		return nil, fmt.Errorf("list the Kymas named %s: %w", name, err)
	}
	return lists.Map(lists.Pointers(list.Items), func(kyma *metav1.PartialObjectMetadata) client.Object { return kyma }), nil
}

// AgentCertificate returns the version of the certificate of a Kyma's agent, as the informer of Secrets knows it. The
// version changes when the renewal is due, at the time in the annotation renew (RFC 3339). It has no uid if there is no
// certificate.
func (f *Fleet) AgentCertificate(ctx context.Context, namespace, kyma, renew string, now time.Time) (desired.SecretVersion, error) {
	key := types.NamespacedName{Namespace: namespace, Name: desired.CertificateName(kyma)}
	version := desired.SecretVersion{Namespace: key.Namespace, Name: key.Name}
	secret := SecretMetadata()
	err := f.known.Get(ctx, key, secret)
	if err != nil {
		return version, client.IgnoreNotFound(fmt.Errorf("find the certificate of the agent, Secret %s: %w", key, err))
	}
	version.UID, version.ResourceVersion = secret.UID, secret.ResourceVersion
	if at, err := time.Parse(time.RFC3339, secret.Annotations[renew]); err == nil && !now.Before(at) {
		version.ResourceVersion += ", to be renewed"
	}
	return version, nil
}
