package fleet

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// Informers tracks the informers of a cache that is limited to some namespaces, with one informer per namespace and
// kind. Such a cache does not expose its informers, but Await must know how current each one is: the informer of a
// namespace without changes lags behind the others by up to a minute.
type Informers struct {
	mu     sync.Mutex
	byKind map[string]map[string]toolscache.SharedIndexInformer
}

// Limit limits a cache to these namespaces, in place. A kind with its own namespaces keeps them.
func (i *Informers) Limit(options *cache.Options, namespaces []string) {
	for kind, by := range options.ByObject {
		names := namespaces
		if by.Namespaces != nil {
			names = nil
			for name := range by.Namespaces {
				names = append(names, name)
			}
		}
		limited := map[string]cache.Config{}
		for _, name := range names {
			limited[name] = cache.Config{LabelSelector: by.Label, Transform: tellsNamespace(name, by.Transform, options.DefaultTransform)}
		}
		by.Namespaces = limited
		options.ByObject[kind] = by
	}
	options.DefaultNamespaces = map[string]cache.Config{}
	for _, name := range namespaces {
		options.DefaultNamespaces[name] = cache.Config{}
	}
	options.NewInformer = i.newInformer
}

// namespaceQuestion is an object for an informer's transform. The transform reveals the informer's namespace, which is
// not available otherwise.
type namespaceQuestion struct{ namespace string }

// tellsNamespace returns the first transform that is not nil, extended to answer a namespaceQuestion.
func tellsNamespace(namespace string, transforms ...toolscache.TransformFunc) toolscache.TransformFunc {
	return func(object any) (any, error) {
		if question, asked := object.(*namespaceQuestion); asked {
			question.namespace = namespace
			return object, nil
		}
		for _, transform := range transforms {
			if transform != nil {
				return transform(object)
			}
		}
		return object, nil
	}
}

func (i *Informers) newInformer(source toolscache.ListerWatcher, kind runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	return &informer{SharedIndexInformer: toolscache.NewSharedIndexInformer(source, kind, resync, indexers), kind: nameOf(kind), of: i}
}

// informer registers itself when it gets its transform, which happens before it runs.
type informer struct {
	toolscache.SharedIndexInformer
	kind string
	of   *Informers
}

// SetTransform implements toolscache.SharedIndexInformer.
func (n *informer) SetTransform(transform toolscache.TransformFunc) error {
	question := &namespaceQuestion{}
	if transform != nil {
		_, _ = transform(question)
	}
	if question.namespace != "" {
		n.of.mu.Lock()
		defer n.of.mu.Unlock()
		if n.of.byKind == nil {
			n.of.byKind = map[string]map[string]toolscache.SharedIndexInformer{}
		}
		if n.of.byKind[n.kind] == nil {
			n.of.byKind[n.kind] = map[string]toolscache.SharedIndexInformer{}
		}
		n.of.byKind[n.kind][question.namespace] = n.SharedIndexInformer
	}
	return n.SharedIndexInformer.SetTransform(transform)
}

// nameOf returns a name that distinguishes kinds. Kinds with only their metadata cached share one Go type.
func nameOf(kind runtime.Object) string {
	return fmt.Sprintf("%T %s", kind, kind.GetObjectKind().GroupVersionKind().Kind)
}

// version returns the resource version up to which everything of a kind in a namespace is known. Without a namespace,
// it returns the version of the informer that lags behind most.
func (i *Informers) version(_ context.Context, kind client.Object, namespace string) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	informers := i.byKind[nameOf(kind)]
	if namespace != "" {
		if in, known := informers[namespace]; known {
			return versionOf(in)
		}
		return ""
	}
	oldest := ""
	for _, in := range informers {
		version := versionOf(in)
		if version == "" {
			return ""
		}
		if oldest == "" || desired.Older(version, oldest) {
			oldest = version
		}
	}
	return oldest
}

// versionOf returns the resource version up to which an informer's store has everything.
func versionOf(informer toolscache.SharedInformer) string {
	if version := informer.GetStore().LastStoreSyncResourceVersion(); version != "" {
		return version
	}
	// Without client-go's feature AtomicFIFO, only the last received version is known, a moment before the store has
	// it.
	return informer.LastSyncResourceVersion()
}
