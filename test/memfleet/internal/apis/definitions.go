package apis

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unique"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apiserver"
	listers "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/kyma-project/lifecycle-manager/test/memfleet/internal/store"
)

// Definitions is the resource of CustomResourceDefinitions.
func Definitions() schema.GroupResource {
	return schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
}

// definition is a CustomResourceDefinition as any number of clusters have it.
type definition struct {
	// number identifies it among the definitions.
	number int
	crd    *apiextensionsv1.CustomResourceDefinition
	served bool
	serve  func() (http.Handler, error)
}

// definitionSet are the definitions of a cluster, and of all others that have the same ones.
type definitionSet struct {
	byName map[string]*definition
	sorted []*definition
	// discovery is made when somebody asks for it.
	discovery func() *discovery
}

// definitions is what is known of all clusters' definitions. Whatever is made of one is made once.
type definitions struct {
	mu     sync.Mutex
	bodies map[unique.Handle[string]]*definition
	sets   map[string]*definitionSet
	// handlers serve the custom resources, by what they depend on.
	handlers map[string]func() (http.Handler, error)
}

// definitionsOf returns what a cluster serves besides the built-in kinds.
func (s *Server) definitionsOf(c *store.Cluster) *definitionSet {
	set, _ := c.Derived(Definitions(), func(records []*store.Record) any { return s.setOf(records) }).(*definitionSet)
	return set
}

func (s *Server) setOf(records []*store.Record) *definitionSet {
	d := &s.definitions
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.bodies == nil {
		d.bodies, d.sets = map[unique.Handle[string]]*definition{}, map[string]*definitionSet{}
		d.handlers = map[string]func() (http.Handler, error){}
	}
	set := &definitionSet{byName: map[string]*definition{}}
	var numbers []string
	for _, r := range records {
		one, known := d.bodies[r.Body()]
		if !known {
			one = s.parse(r)
			one.number = len(d.bodies)
			d.bodies[r.Body()] = one
		}
		if !one.served {
			continue
		}
		set.byName[r.Key()] = one
		set.sorted = append(set.sorted, one)
		numbers = append(numbers, strconv.Itoa(one.number))
	}
	key := strings.Join(numbers, ",")
	if known, ok := d.sets[key]; ok {
		return known
	}
	set.discovery = sync.OnceValue(func() *discovery { return s.discover(set.sorted) })
	d.sets[key] = set
	return set
}

// parse works out what a stored definition means, under the lock.
func (s *Server) parse(r *store.Record) *definition {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := json.Unmarshal([]byte(r.Body().Value()), crd); err != nil {
		// It was encoded by the same library.
		return &definition{crd: crd}
	}
	one := &definition{crd: crd, served: apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established)}
	terminating := apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Terminating)
	encoded, err := json.Marshal([]any{crd.Name, crd.Spec, crd.Status.AcceptedNames, terminating})
	if err != nil {
		one.serve = func() (http.Handler, error) { return nil, err }
		return one
	}
	key := string(encoded)
	if s.definitions.handlers[key] == nil {
		s.definitions.handlers[key] = sync.OnceValues(func() (http.Handler, error) { return s.customHandler(crd) })
	}
	one.serve = s.definitions.handlers[key]
	return one
}

// customHandler serves the custom resources of a definition, for all clusters that have it. It is the handler of
// Kubernetes' own API extensions server, which gets this one definition.
func (s *Server) customHandler(crd *apiextensionsv1.CustomResourceDefinition) (http.Handler, error) {
	crd = crd.DeepCopy()
	crd.UID = "one"
	for i := range crd.Status.Conditions {
		// A server waits before it creates something of a definition that was just established, for the sake of others
		// of the same cluster. Here there are none.
		crd.Status.Conditions[i].LastTransitionTime = metav1.NewTime(time.Unix(0, 0))
	}
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{}, &apiextensionsv1.CustomResourceDefinition{}, 0, cache.Indexers{})
	if err := informer.GetIndexer().Add(crd); err != nil {
		return nil, fmt.Errorf("keep definition %s: %w", crd.Name, err)
	}
	handler, err := apiextensions.NewCustomResourceDefinitionHandler(nil, nil, onlyOne{informer}, http.HandlerFunc(notFound), s.options,
		lifecycle{}, nil, webhook.NewDefaultServiceResolver(), webhook.NewDefaultAuthenticationInfoResolverWrapper(nil, nil, &rest.Config{}, nil),
		1, newAnyone(), requestTimeout, 30*time.Minute, s.schemas, maxBody)
	if err != nil {
		return nil, fmt.Errorf("serve definition %s: %w", crd.Name, err)
	}
	return handler, nil
}

// onlyOne is an informer that is never started.
type onlyOne struct{ cache.SharedIndexInformer }

func (o onlyOne) Informer() cache.SharedIndexInformer { return o.SharedIndexInformer }
func (o onlyOne) Lister() listers.CustomResourceDefinitionLister {
	return listers.NewCustomResourceDefinitionLister(o.GetIndexer())
}

// customOptions says how custom resources are stored.
type customOptions struct{ backend *store.Backend }

var _ generic.RESTOptionsGetter = customOptions{}

// GetRESTOptions implements generic.RESTOptionsGetter.
func (o customOptions) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	config := storagebackend.NewDefaultConfig("/registry", unstructured.UnstructuredJSONScheme)
	return restOptions(o.backend, config.ForResource(resource), resource), nil
}

// Served is a resource of a cluster.
type Served struct {
	schema.GroupVersionResource
	Namespaced bool
	// Status reports whether it has a status subresource.
	Status bool
	Kind   string
}

// Custom returns how a resource is served that a definition made, in the version in which it is stored.
func (s *Server) Custom(c *store.Cluster, resource schema.GroupResource) (Served, bool) {
	one, ok := s.definitionsOf(c).byName[resource.String()]
	if !ok {
		return Served{}, false
	}
	at := slices.IndexFunc(one.crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Served && v.Storage })
	if at < 0 {
		if at = slices.IndexFunc(one.crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Served }); at < 0 {
			return Served{}, false
		}
	}
	version := one.crd.Spec.Versions[at]
	return Served{
		GroupVersionResource: resource.WithVersion(version.Name), Namespaced: one.crd.Spec.Scope == apiextensionsv1.NamespaceScoped,
		Status: version.Subresources != nil && version.Subresources.Status != nil, Kind: one.crd.Spec.Names.Kind,
	}, true
}
