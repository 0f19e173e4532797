package sync

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/remote"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/modules/pullsecret"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// purposeImagePull is the value of the label `purpose` on copies of the image pull Secret.
const purposeImagePull = "image-pull-secret"

func secretKind() remote.GroupVersionKind { return corev1.SchemeGroupVersion.WithKind("Secret") }

// ensurePullSecret keeps a copy of the image pull Secret beside the remote Kyma, and deletes a copy that the flag no
// longer names. It records the copy's name before writing the copy. If the Secret is missing in the control plane,
// ensurePullSecret deletes nothing.
func (a *Activities) ensurePullSecret(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r *session) error {
	name, recorded := a.Settings.ImagePullSecret, kyma.Status.Remote.ImagePullSecret
	if recorded != name {
		if recorded != "" {
			if err := r.deletePullSecrets(ctx, kyma, s.Namespace, name); err != nil {
				return err
			}
		}
		next := *kyma.Status.Remote.DeepCopy()
		next.ImagePullSecret = name
		if err := a.record(ctx, kyma, next); err != nil {
			return err
		}
	}
	if name == "" || a.pullSecretIsThere(s, r.Own) {
		return nil
	}
	source, err := a.PullSecret.Read(ctx)
	if err != nil {
		return err
	}
	wanted := copyOfPullSecret(kyma, source, s.Namespace)
	found := &corev1.Secret{}
	err = r.Get(ctx, client.ObjectKeyFromObject(wanted), found)
	if apierrors.IsNotFound(err) {
		return r.createSecret(ctx, wanted)
	}
	if err != nil {
		return fmt.Errorf("read image pull Secret %s: %w", desired.NameOf(wanted), err)
	}
	if !a.mayOverwrite(found, r) {
		return fault.New(fault.Rejected, ReasonPullSecret,
			"Secret %s in the remote cluster belongs to somebody else, so the image pull Secret cannot be written; rename or delete the Secret", desired.NameOf(wanted))
	}
	return r.updateSecret(ctx, found, wanted)
}

// pullSecretIsThere reports whether the remote namespace is the one of the original Secret.
func (a *Activities) pullSecretIsThere(s desired.Sync, own bool) bool {
	return own && a.PullSecret.Key().Namespace == s.Namespace
}

// mayOverwrite reports whether a Secret may become a copy. It must be marked, or be in the namespace that the flag names,
// where copies from before marks may exist.
func (a *Activities) mayOverwrite(found *corev1.Secret, r *session) bool {
	return desired.IsSyncedCopy(found) || !r.Own && found.Namespace == a.Settings.SyncNamespace
}

// copyOfPullSecret returns a copy with the type and the data of the Secret and only our own metadata. Annotations of the
// original may contain its content.
func copyOfPullSecret(kyma *v1beta2.Kyma, source *corev1.Secret, namespace string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: source.Name, Namespace: namespace,
			Labels:      map[string]string{shared.LabelManagedBy: shared.ManagedByKyma, shared.LabelPurpose: purposeImagePull},
			Annotations: remoteMarks(kyma),
		},
		Type: source.Type,
		Data: source.Data,
	}
}

func (r *session) createSecret(ctx context.Context, wanted *corev1.Secret) error {
	if err := r.Create(ctx, wanted, remote.FieldOwner()); err != nil {
		return secretNotWritten("create", wanted, err)
	}
	r.Writes++
	return nil
}

// updateSecret writes the differences. If another Kyma shares the namespace, the existing mark stays.
func (r *session) updateSecret(ctx context.Context, found, wanted *corev1.Secret) error {
	if !found.DeletionTimestamp.IsZero() {
		return fault.New(fault.Transient, ReasonPullSecret, "image pull Secret %s is being deleted", desired.NameOf(found))
	}
	same := pullsecret.Digest(found) == pullsecret.Digest(wanted)
	if same && remote.HasLabels(found.Labels, wanted.Labels) && desired.IsSyncedCopy(found) {
		return nil
	}
	if found.Type != wanted.Type || !same && found.Immutable != nil && *found.Immutable {
		// Neither can be changed, so replace the Secret.
		if err := r.DeleteObject(ctx, secretMetadata(found)); err != nil {
			return err
		}
		return r.createSecret(ctx, wanted)
	}
	if mark, marked := found.Annotations[desired.AnnotationSyncedFrom]; marked {
		wanted.Annotations[desired.AnnotationSyncedFrom] = mark
	}
	found.Data, found.StringData = wanted.Data, nil
	found.Labels = remote.Merged(found.Labels, wanted.Labels)
	found.Annotations = remote.Merged(found.Annotations, wanted.Annotations)
	if err := r.Update(ctx, found, remote.FieldOwner()); err != nil {
		return secretNotWritten("update", wanted, err)
	}
	r.Writes++
	return nil
}

// secretNotWritten returns an error without the API server's text about a refused Secret, which may contain its content.
func secretNotWritten(verb string, secret *corev1.Secret, err error) error {
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		return fault.New(fault.Rejected, ReasonPullSecret, "%s image pull Secret %s: the cluster refuses its content", verb, desired.NameOf(secret))
	}
	return fmt.Errorf("%s image pull Secret %s: %w", verb, desired.NameOf(secret), err)
}

// deletePullSecrets deletes a Kyma's copies of image pull Secrets in a namespace, under whatever name the flag had,
// except for those in stays. If another Kyma shares the namespace, that Kyma becomes their owner instead.
func (r *session) deletePullSecrets(ctx context.Context, kyma *v1beta2.Kyma, namespace string, stays ...string) error {
	secrets, err := remote.ListMetadata(ctx, r, secretKind(), client.InNamespace(namespace),
		client.MatchingLabels{shared.LabelManagedBy: shared.ManagedByKyma, shared.LabelPurpose: purposeImagePull})
	if err != nil {
		return err
	}
	mark := desired.SyncedFrom(kyma)
	for i := range secrets {
		secret := &secrets[i]
		if secret.Annotations[desired.AnnotationSyncedFrom] != mark || slices.Contains(stays, secret.Name) {
			continue
		}
		other, err := r.otherKyma(ctx, namespace, mark)
		if err != nil {
			return err
		}
		if other != "" {
			err = r.Label(ctx, secret, nil, map[string]string{desired.AnnotationSyncedFrom: other})
		} else {
			err = r.DeleteObject(ctx, secret)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// otherKyma returns the mark of another Kyma that shares the remote namespace, or "" if there is none.
func (r *session) otherKyma(ctx context.Context, namespace, mark string) (string, error) {
	kymas, err := remote.ListMetadata(ctx, r, remote.Kind(shared.KindKyma), client.InNamespace(namespace))
	if err != nil && !remote.KindMissing(err) {
		return "", err
	}
	for i := range kymas {
		if other, marked := kymas[i].Annotations[desired.AnnotationSyncedFrom]; marked && other != mark && kymas[i].DeletionTimestamp.IsZero() {
			return other, nil
		}
	}
	return "", nil
}

func secretMetadata(secret *corev1.Secret) *metav1.PartialObjectMetadata {
	object := remote.MetadataOf(secretKind())
	object.ObjectMeta = secret.ObjectMeta
	return object
}
