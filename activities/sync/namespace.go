package sync

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
)

// namespaceLabels are those of the remote namespace (docs/contract.md#labels).
func namespaceLabels() map[string]string {
	return map[string]string{
		shared.LabelIstioInjection: shared.ValueEnabled,
		shared.LabelWardenValidate: shared.ValueEnabled,
		shared.LabelManagedBy:      shared.ManagedByKyma,
	}
}

// ensureNamespace creates the remote namespace where it is missing. The labels are kept on what we created,
// and on the namespace that the flag names; a namespace that somebody else made is theirs.
func (a *Activities) ensureNamespace(ctx context.Context, r *remote, name string, first bool) error {
	if first {
		created, err := r.createNamespace(ctx, name)
		if err != nil || created {
			return err
		}
	}
	namespace := metadataOf(namespaceKind())
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
	ours := namespace.Labels[shared.LabelManagedBy] == shared.ManagedByKyma || name == a.settings.SyncNamespace && !r.own
	if !ours || hasLabels(namespace.Labels, namespaceLabels()) {
		return nil
	}
	return r.label(ctx, namespace, namespaceLabels(), nil)
}

func (r *remote) createNamespace(ctx context.Context, name string) (bool, error) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: namespaceLabels()}}
	err := r.Create(ctx, namespace, remoteOwner())
	if apierrors.IsAlreadyExists(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("create namespace %s: %w", name, err)
	}
	r.writes++
	return true, nil
}

// label sets labels and annotations on an object that was read, and touches nothing else of it.
func (r *remote) label(ctx context.Context, object client.Object, labels, annotations map[string]string) error {
	before, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("%T is no object of an API server", object)
	}
	object.SetLabels(merged(object.GetLabels(), labels))
	object.SetAnnotations(merged(object.GetAnnotations(), annotations))
	if err := r.Patch(ctx, object, client.MergeFrom(before), remoteOwner()); err != nil {
		return fmt.Errorf("label %s %s: %w", object.GetObjectKind().GroupVersionKind().Kind, object.GetName(), err)
	}
	r.writes++
	return nil
}

func hasLabels(has, wants map[string]string) bool {
	for key, value := range wants {
		if has[key] != value {
			return false
		}
	}
	return true
}

func merged(base, over map[string]string) map[string]string {
	all := make(map[string]string, len(base)+len(over))
	for key, value := range base {
		all[key] = value
	}
	for key, value := range over {
		all[key] = value
	}
	return all
}
