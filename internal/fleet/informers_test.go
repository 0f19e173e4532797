package fleet_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
)

// One namespace gets no events for a while, while another is up to date.
func TestALimitedCacheKnowsTheVersionOfEachNamespace(t *testing.T) {
	informers := &fleet.Informers{}
	kyma, manifest, secret := client.Object(&v1beta2.Kyma{}), client.Object(&v1beta2.Manifest{}), client.Object(fleet.SecretMetadata())
	options := cache.Options{DefaultTransform: cache.TransformStripManagedFields(), ByObject: map[client.Object]cache.ByObject{
		kyma: {}, manifest: {Transform: fleet.Strip},
		secret: {Namespaces: map[string]cache.Config{"busy": {}, "quiet": {}, "secrets": {}}},
	}}
	informers.Limit(&options, []string{"busy", "quiet"})
	require.Len(t, options.ByObject[secret].Namespaces, 3, "a kind keeps its own namespaces")

	known := fleet.New(nil, informers, nil)
	aheadOf := func(kind client.Object, namespace, version string) bool {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		return known.Await(ctx, kind, namespace, version)
	}
	require.False(t, aheadOf(&v1beta2.Manifest{}, "busy", "1"), "nothing runs yet")
	startInformer(t, options, manifest, "busy", "200")
	require.Eventually(t, func() bool { return aheadOf(&v1beta2.Manifest{}, metav1.NamespaceAll, "200") }, 10*time.Second, time.Millisecond)
	startInformer(t, options, manifest, "quiet", "100")
	require.Eventually(t, func() bool { return aheadOf(&v1beta2.Manifest{}, "quiet", "100") }, 10*time.Second, time.Millisecond)

	require.True(t, aheadOf(&v1beta2.Manifest{}, "busy", "200"))
	require.False(t, aheadOf(&v1beta2.Manifest{}, "quiet", "101"))
	require.True(t, aheadOf(&v1beta2.Manifest{}, metav1.NamespaceAll, "100"))
	require.False(t, aheadOf(&v1beta2.Manifest{}, metav1.NamespaceAll, "101"), "the slowest informer counts")
	require.False(t, aheadOf(&v1beta2.Manifest{}, "elsewhere", "1"), "no informer watches this namespace")
	require.False(t, aheadOf(&v1beta2.Kyma{}, "busy", "1"), "another kind")
	require.False(t, aheadOf(fleet.SecretMetadata(), "busy", "1"))
	startInformer(t, options, secret, "secrets", "7")
	require.Eventually(t, func() bool { return aheadOf(fleet.SecretMetadata(), "secrets", "7") }, 10*time.Second, time.Millisecond)
}

// startInformer runs an informer as a cache with these options creates it, for an empty namespace at a version.
func startInformer(t *testing.T, options cache.Options, kind client.Object, namespace, version string) {
	t.Helper()
	source := &toolscache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			return &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: version}}, nil
		},
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil },
	}
	informer := options.NewInformer(toolscache.ToListWatcherWithWatchListSemantics(source, noWatchList{}), kind, 0, toolscache.Indexers{})
	require.NoError(t, informer.SetTransform(options.ByObject[kind].Namespaces[namespace].Transform))
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	go informer.Run(stop)
}

// noWatchList makes informers list, like at servers that do not stream lists.
type noWatchList struct{}

// IsWatchListSemanticsUnSupported says that the source cannot stream lists.
func (noWatchList) IsWatchListSemanticsUnSupported() bool { return true }
