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

// NamespaceOf is the namespace of an object that names one, or none: a cluster-scoped object has none, and any other is
// in the remote namespace unless it names another.
func NamespaceOf(resource kinds.Resource, named, remoteNamespace string) string {
	if !resource.Namespaced {
		return ""
	}
	return cmp.Or(named, remoteNamespace)
}

// EnsureNamespace creates the remote namespace if it does not exist. It belongs to all modules: it carries no module's
// ownership annotation, and the removal of no module deletes it.
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
