package sync

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/pullsecret"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

const (
	// ReasonPullSecret: the image pull Secret could not be brought.
	ReasonPullSecret = "ImagePullSecretNotSynced"
	// purposeImagePull is the value of the label `purpose` of the copies of the image pull Secret.
	purposeImagePull = "image-pull-secret"
)

// PullSecret is the Secret in the control plane with which remote clusters pull images; *pullsecret.Source is.
type PullSecret interface {
	Key() types.NamespacedName
	Read(ctx context.Context) (*corev1.Secret, error)
	Content(ctx context.Context) (string, error)
}

func secretKind() groupVersionKind { return corev1.SchemeGroupVersion.WithKind("Secret") }

// ensurePullSecret keeps a copy of the image pull Secret beside the remote Kyma, and takes away one that the flag
// names no longer. Which one is there is recorded before it is written. A Secret that cannot be found in the
// control plane takes nothing away.
func (a *Activities) ensurePullSecret(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r *remote) error {
	name, recorded := a.settings.ImagePullSecret, kyma.Status.Remote.ImagePullSecret
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
	if name == "" || a.pullSecretIsThere(s, r.own) {
		return nil
	}
	source, err := a.pullSecret.Read(ctx)
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
		return fmt.Errorf("read image pull Secret %s: %w", nameOf(wanted), err)
	}
	if !a.mayOverwrite(found, r) {
		return fault.New(fault.Rejected, ReasonPullSecret,
			"Secret %s of the remote cluster was made by somebody else, and is in the way of the image pull Secret", nameOf(wanted))
	}
	return r.updateSecret(ctx, found, wanted)
}

// pullSecretIsThere tells whether the remote namespace is the one of the Secret itself.
func (a *Activities) pullSecretIsThere(s desired.Sync, own bool) bool {
	return own && a.pullSecret.Key().Namespace == s.Namespace
}

// mayOverwrite tells whether a Secret may be made a copy: one that is marked, and in the namespace that is ours by
// the flag also one that was there before marks.
func (a *Activities) mayOverwrite(found *corev1.Secret, r *remote) bool {
	return desired.IsSyncedCopy(found) || !r.own && found.Namespace == a.settings.SyncNamespace
}

// copyOfPullSecret has the type and the data of the Secret, and no other metadata than ours: annotations of the
// original may hold its content once more.
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

func (r *remote) createSecret(ctx context.Context, wanted *corev1.Secret) error {
	if err := r.Create(ctx, wanted, remoteOwner()); err != nil {
		return secretNotWritten("create", wanted, err)
	}
	r.writes++
	return nil
}

// updateSecret writes what differs. Where another Kyma shares the namespace, the mark stays with the one that has it.
func (r *remote) updateSecret(ctx context.Context, found, wanted *corev1.Secret) error {
	if !found.DeletionTimestamp.IsZero() {
		return fault.New(fault.Transient, ReasonPullSecret, "image pull Secret %s is being deleted", nameOf(found))
	}
	same := pullsecret.Digest(found) == pullsecret.Digest(wanted)
	if same && hasLabels(found.Labels, wanted.Labels) && desired.IsSyncedCopy(found) {
		return nil
	}
	if found.Type != wanted.Type || !same && found.Immutable != nil && *found.Immutable {
		// Neither can be changed.
		if err := r.deleteObject(ctx, secretMetadata(found)); err != nil {
			return err
		}
		return r.createSecret(ctx, wanted)
	}
	if mark, marked := found.Annotations[desired.AnnotationSyncedFrom]; marked {
		wanted.Annotations[desired.AnnotationSyncedFrom] = mark
	}
	found.Data, found.StringData = wanted.Data, nil
	found.Labels = merged(found.Labels, wanted.Labels)
	found.Annotations = merged(found.Annotations, wanted.Annotations)
	if err := r.Update(ctx, found, remoteOwner()); err != nil {
		return secretNotWritten("update", wanted, err)
	}
	r.writes++
	return nil
}

// secretNotWritten leaves out what an API server says about the content of a Secret that it refuses.
func secretNotWritten(verb string, secret *corev1.Secret, err error) error {
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		return fault.New(fault.Rejected, ReasonPullSecret, "%s image pull Secret %s: the cluster refuses its content", verb, nameOf(secret))
	}
	return fmt.Errorf("%s image pull Secret %s: %w", verb, nameOf(secret), err)
}

// deletePullSecrets deletes the copies of image pull Secrets in a namespace that were brought for a Kyma, whatever the
// flag named at the time, but for one that is to stay. Where another Kyma shares the namespace, that one has them from
// now on.
func (r *remote) deletePullSecrets(ctx context.Context, kyma *v1beta2.Kyma, namespace string, stays ...string) error {
	secrets, err := listMetadata(ctx, r, secretKind(), client.InNamespace(namespace),
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
			err = r.label(ctx, secret, nil, map[string]string{desired.AnnotationSyncedFrom: other})
		} else {
			err = r.deleteObject(ctx, secret)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// otherKyma is the mark of a Kyma that shares a remote namespace with the one of this mark; empty where there is none.
func (r *remote) otherKyma(ctx context.Context, namespace, mark string) (string, error) {
	kymas, err := listMetadata(ctx, r, ourKind(shared.KindKyma), client.InNamespace(namespace))
	if err != nil && !kindMissing(err) {
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
	object := metadataOf(secretKind())
	object.ObjectMeta = secret.ObjectMeta
	return object
}

// probePullSecret tells whether the copy of the image pull Secret is not as wanted, and this is worth another
// synchronization. While the original cannot be read, nothing can be said.
func (a *Activities) probePullSecret(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r client.Reader, own, awaited bool) (bool, error) {
	if a.settings.ImagePullSecret == "" || a.pullSecretIsThere(s, own) {
		return false, nil
	}
	wanted, err := a.pullSecret.Content(ctx)
	if fault.Of(err).Reason == pullsecret.ReasonNotFound {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	key := types.NamespacedName{Namespace: s.Namespace, Name: a.settings.ImagePullSecret}
	found := &corev1.Secret{}
	err = r.Get(ctx, key, found)
	switch {
	case apierrors.IsNotFound(err):
		found.Namespace, found.Name = key.Namespace, key.Name
	case err != nil:
		return false, fmt.Errorf("read image pull Secret %s: %w", key, err)
	case !desired.IsSyncedCopy(found) || pullsecret.Digest(found) == wanted:
		a.undone.right(kyma, PullSecretDiffers)
		return false, nil
	}
	// The digest stays in memory.
	return awaited || a.undone.worth(kyma, PullSecretDiffers, found, "", wanted), nil
}
