package objects

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
)

// NamespaceOf returns the namespace of an object: none if it is cluster-scoped, the named one if it names one, and
// the remote namespace otherwise.
func NamespaceOf(resource kinds.Resource, named, remoteNamespace string) string {
	if !resource.Namespaced {
		return ""
	}
	return cmp.Or(named, remoteNamespace)
}

// EnsureNamespace creates the remote namespace if it is missing. The namespace belongs to all modules, so it carries
// no module's ownership annotation, and no module's removal deletes it.
func EnsureNamespace(ctx context.Context, c *clusters.Cluster, name string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name,
		Labels: map[string]string{
			shared.LabelManagedBy:      shared.ManagedByKyma,
			shared.LabelIstioInjection: shared.ValueEnabled,
			shared.LabelWardenValidate: shared.ValueEnabled,
		},
	}}
	err := c.Client.Create(ctx, namespace, client.FieldOwner(shared.FieldManagerLifecycleManager))
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create namespace %s: %w", name, err)
	}
	return nil
}
