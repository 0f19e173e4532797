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

// Cache is a cache such as the product's, with real informers, stores and indexes, and no API server behind it: what is
// read without a copy is the very object that the informer holds, which no fake client can show.
type Cache struct {
	cache.Cache

	mu      sync.Mutex
	sources map[reflect.Type]*cachetesting.FakeControllerSource
}

// NewCache returns a Cache that holds these objects and is not started yet. It has the indexes of fleet.Register.
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

// Hold has the informers of these kinds hold what there is from the beginning, as the product's do.
func (c *Cache) Hold(t testing.TB, kinds ...client.Object) {
	t.Helper()
	for _, kind := range kinds {
		_, err := c.GetInformer(t.Context(), kind, cache.BlockUntilSynced(false))
		require.NoError(t, err)
	}
}

// Run starts the cache, and returns when it knows everything. It runs until the test ends.
func (c *Cache) Run(t testing.TB) *Cache {
	t.Helper()
	go func() { _ = c.Start(t.Context()) }()
	require.True(t, c.WaitForCacheSync(t.Context()))
	return c
}

// Set makes or changes an object. The informer hears of it a moment later.
func (c *Cache) Set(object client.Object) { c.source(object).Modify(object.DeepCopyObject()) }

// Unset deletes an object.
func (c *Cache) Unset(object client.Object) { c.source(object).Delete(object.DeepCopyObject()) }

// UnsetUnseen deletes an object while nobody watches: the informer finds it gone when it lists again.
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

// listsOnly says that the source does not stream what there is at first as a watch.
type listsOnly struct{}

// IsWatchListSemanticsUnSupported implements what the reflector asks a client.
func (listsOnly) IsWatchListSemanticsUnSupported() bool { return true }
