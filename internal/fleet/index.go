package fleet

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// Names of the cache indexes that Register creates.
const (
	// IndexKymaUID indexes Manifests and RemoteAgents by the uid of their Kyma.
	IndexKymaUID = "lifecycle-manager.kyma-uid"
	// IndexKymaName indexes Manifests, RemoteAgents and access Secrets by the Kyma's name in their label.
	IndexKymaName = "lifecycle-manager.kyma-name"
	// IndexSharedModule indexes Manifests by their label shared-module.
	IndexSharedModule = "lifecycle-manager.shared-module"
	// IndexName indexes Kymas by name.
	IndexName = "lifecycle-manager.name"
	// IndexBucket indexes Kymas by the bucket of their uid; see BucketOf and InBucket.
	IndexBucket = "lifecycle-manager.bucket"
)

// Register creates the indexes that a Fleet reads. It must be called before the cache is started.
func Register(ctx context.Context, indexer client.FieldIndexer) error {
	return desired.Register(ctx, indexer,
		desired.CacheIndex{Of: &v1beta2.Manifest{}, Name: IndexKymaUID, Values: ByKymaUID},
		desired.CacheIndex{Of: &v1beta2.Manifest{}, Name: IndexKymaName, Values: byLabel(shared.LabelKymaName)},
		desired.CacheIndex{Of: &v1beta2.Manifest{}, Name: IndexSharedModule, Values: byLabel(desired.LabelSharedModule)},
		desired.CacheIndex{Of: &v1beta2.RemoteAgent{}, Name: IndexKymaUID, Values: ByKymaUID},
		desired.CacheIndex{Of: &v1beta2.RemoteAgent{}, Name: IndexKymaName, Values: byLabel(shared.LabelKymaName)},
		desired.CacheIndex{Of: &v1beta2.RemoteAgent{}, Name: IndexSharedModule, Values: byLabel(desired.LabelSharedModule)},
		desired.CacheIndex{Of: SecretMetadata(), Name: IndexKymaName, Values: byLabel(shared.LabelKymaName)},
		desired.CacheIndex{Of: &v1beta2.Kyma{}, Name: IndexName, Values: func(object client.Object) []string { return []string{object.GetName()} }},
		desired.CacheIndex{Of: &v1beta2.Kyma{}, Name: IndexBucket, Values: byBucket},
	)
}

// ByKymaUID returns the values of IndexKymaUID.
func ByKymaUID(object client.Object) []string {
	for _, owner := range object.GetOwnerReferences() {
		if owner.Kind == shared.KindKyma {
			return []string{string(owner.UID)}
		}
	}
	return nil
}

func byLabel(label string) client.IndexerFunc {
	return func(object client.Object) []string {
		if value := object.GetLabels()[label]; value != "" {
			return []string{value}
		}
		return nil
	}
}

// IndexRuntimeID indexes Kymas by their runtime id, which is the common name of their agents' certificates.
const IndexRuntimeID = "lifecycle-manager.runtime-id"

// RegisterRuntimeIDs creates IndexRuntimeID. Processes that receive events from remote clusters must call it before the
// cache is started.
func RegisterRuntimeIDs(ctx context.Context, indexer client.FieldIndexer) error {
	return desired.Register(ctx, indexer, desired.CacheIndex{Of: &v1beta2.Kyma{}, Name: IndexRuntimeID, Values: ByRuntimeID})
}

// ByRuntimeID returns the values of IndexRuntimeID. It omits copies of Kymas in their clusters: a copy has the label of
// the original, but no events of its own.
func ByRuntimeID(object client.Object) []string {
	kyma, ok := object.(*v1beta2.Kyma)
	if !ok || kyma.RuntimeID() == "" || desired.IsSyncedCopy(kyma) {
		return nil
	}
	return []string{kyma.RuntimeID()}
}
