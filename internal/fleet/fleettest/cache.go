package fleettest

import (
	"context"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/internal/fleet"
)

// Cache is a cache like the product's, with real informers, stores and indexes, but without an API server. A read
// without a deep copy returns the informer's own object, which no fake client can do.
type Cache struct {
	cache.Cache

	mu      sync.Mutex
	sources map[reflect.Type]*cachetesting.FakeControllerSource
}

// NewCache returns a Cache with these objects and the indexes of fleet.Register. It is not started yet.
func NewCache(t testing.TB, scheme *runtime.Scheme, objects ...client.Object) *Cache {
	t.Helper()
	c := &Cache{sources: map[reflect.Type]*cachetesting.FakeControllerSource{}}
	mapper := meta.NewDefaultRESTMapper(nil)
	for kind := range scheme.AllKnownTypes() {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	mapper.Add(fleet.SecretMetadata().GroupVersionKind(), meta.RESTScopeNamespace)
	var err error
	c.Cache, err = cache.New(&rest.Config{Host: "127.0.0.1:1"}, cache.Options{
		Scheme: scheme, Mapper: mapper,
		NewInformer: func(_ toolscache.ListerWatcher, kind runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
			return toolscache.NewSharedIndexInformer(toolscache.ToListWatcherWithWatchListSemantics(c.listWatch(kind), listsOnly{}), kind, resync, indexers)
		},
	})
	require.NoError(t, err)
	require.NoError(t, fleet.Register(t.Context(), c))
	for _, object := range objects {
		c.Set(object)
	}
	return c
}

// Hold starts the informers of these kinds together with the cache, like the product does.
func (c *Cache) Hold(t testing.TB, kinds ...client.Object) {
	t.Helper()
	for _, kind := range kinds {
		_, err := c.GetInformer(t.Context(), kind, cache.BlockUntilSynced(false))
		require.NoError(t, err)
	}
}

// Run starts the cache, and returns after it is synchronized. The cache runs until the test ends.
func (c *Cache) Run(t testing.TB) *Cache {
	t.Helper()
	go func() { _ = c.Start(t.Context()) }()
	require.True(t, c.WaitForCacheSync(t.Context()))
	return c
}

// Set creates or changes an object. The informer receives the event a moment later.
func (c *Cache) Set(object client.Object) { c.source(object).Modify(object.DeepCopyObject()) }

// Unset deletes an object.
func (c *Cache) Unset(object client.Object) { c.source(object).Delete(object.DeepCopyObject()) }

// UnsetUnseen deletes an object while no watch is open. The informer notices that when it lists again.
func (c *Cache) UnsetUnseen(object client.Object) {
	c.source(object).DeleteDropWatch(object.DeepCopyObject())
	c.source(object).ResetWatch()
}

func (c *Cache) source(kind runtime.Object) *cachetesting.FakeControllerSource {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := reflect.TypeOf(kind)
	if c.sources[known] == nil {
		c.sources[known] = cachetesting.NewFakeControllerSource()
	}
	return c.sources[known]
}

func (c *Cache) listWatch(kind runtime.Object) *toolscache.ListWatch {
	source := c.source(kind)
	return &toolscache.ListWatch{
		ListWithContextFunc:  func(_ context.Context, o metav1.ListOptions) (runtime.Object, error) { return source.List(o) },
		WatchFuncWithContext: func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) { return source.Watch(o) },
	}
}

// listsOnly says that the source does not stream the initial list as a watch.
type listsOnly struct{}

// IsWatchListSemanticsUnSupported implements an interface that the reflector checks.
func (listsOnly) IsWatchListSemanticsUnSupported() bool { return true }
