// Package fleettest provides caches and indexed fake clients, so that tests read like the product does from its caches.
package fleettest

import (
	"context"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kyma-project/lifecycle-manager/internal/fleet"
)

// Indexed adds the indexes of fleet.Register to a fake client.
func Indexed(builder *fake.ClientBuilder) *fake.ClientBuilder {
	utilruntime.Must(fleet.Register(context.Background(), indexer{builder}))
	return builder
}

type indexer struct{ *fake.ClientBuilder }

// IndexField implements client.FieldIndexer.
func (i indexer) IndexField(_ context.Context, object client.Object, field string, values client.IndexerFunc) error {
	i.WithIndex(object, field, values)
	return nil
}
