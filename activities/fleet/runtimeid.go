package fleet

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// IndexRuntimeID indexes Kymas by their runtime id, which is the common name of their agents' certificates.
const IndexRuntimeID = "lifecycle-manager.runtime-id"

// RegisterRuntimeIDs makes IndexRuntimeID. It must be called before the cache is started, in processes that take events
// from remote clusters.
func RegisterRuntimeIDs(ctx context.Context, indexer client.FieldIndexer) error {
	return desired.Register(ctx, indexer, desired.CacheIndex{Of: &v1beta2.Kyma{}, Name: IndexRuntimeID, Values: ByRuntimeID})
}

// ByRuntimeID is the function behind IndexRuntimeID. A copy that was brought into the cluster of its Kyma has the label of
// the original, and no events of its own.
func ByRuntimeID(object client.Object) []string {
	kyma, is := object.(*v1beta2.Kyma)
	if !is || kyma.RuntimeID() == "" || desired.IsSyncedCopy(kyma) {
		return nil
	}
	return []string{kyma.RuntimeID()}
}
