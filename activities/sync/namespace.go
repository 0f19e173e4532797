package sync

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/remote"
)

// namespaceLabels returns the labels of the remote namespace (docs/contract.md#labels).
func namespaceLabels() map[string]string {
	return map[string]string{
		shared.LabelIstioInjection: shared.ValueEnabled,
		shared.LabelWardenValidate: shared.ValueEnabled,
		shared.LabelManagedBy:      shared.ManagedByKyma,
	}
}

// ensureNamespace creates the remote namespace if it is missing. It keeps our labels on a namespace that we created, and
// on the namespace that the flag names. Other namespaces belong to whoever created them.
func (a *Activities) ensureNamespace(ctx context.Context, r *session, name string, first bool) error {
	if first {
		created, err := r.createNamespace(ctx, name)
		if err != nil || created {
			return err
		}
	}
	namespace := remote.MetadataOf(namespaceKind())
	err := r.Get(ctx, types.NamespacedName{Name: name}, namespace)
	if apierrors.IsNotFound(err) {
		_, err = r.createNamespace(ctx, name)
		return err
	}
	if err != nil {
		return fmt.Errorf("read namespace %s: %w", name, err)
	}
	if !namespace.DeletionTimestamp.IsZero() {
		return fmt.Errorf("namespace %s is being deleted", name)
	}
	ours := namespace.Labels[shared.LabelManagedBy] == shared.ManagedByKyma || name == a.Settings.SyncNamespace && !r.Own
	if !ours || remote.HasLabels(namespace.Labels, namespaceLabels()) {
		return nil
	}
	return r.Label(ctx, namespace, namespaceLabels(), nil)
}

func (r *session) createNamespace(ctx context.Context, name string) (bool, error) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: namespaceLabels()}}
	err := r.Create(ctx, namespace, remote.FieldOwner())
	if apierrors.IsAlreadyExists(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("create namespace %s: %w", name, err)
	}
	r.Writes++
	return true, nil
}

func namespaceKind() remote.GroupVersionKind { return corev1.SchemeGroupVersion.WithKind("Namespace") }
