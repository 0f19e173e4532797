package memfleet

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/test/memfleet/internal/apis"
	"github.com/kyma-project/lifecycle-manager/test/memfleet/internal/controllers"
	"github.com/kyma-project/lifecycle-manager/test/memfleet/internal/store"
)

// seeds makes the namespaces that are in every cluster, once, by requests as a real server makes them.
func seeds(ctx context.Context, server *apis.Server) ([]*store.Record, error) {
	pattern := store.NewCluster(nil)
	client, err := controllers.Client(server)
	if err != nil {
		return nil, err
	}
	ctx = store.In(ctx, pattern)
	for _, name := range []string{metav1.NamespaceDefault, "kube-node-lease", metav1.NamespacePublic, metav1.NamespaceSystem} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
			return nil, err
		}
	}
	return pattern.All(apis.Namespaces(), ""), nil
}
