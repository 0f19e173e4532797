package apis

import (
	"fmt"
	"sync"

	apiextensionsinternal "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	genericserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"
	apiservicerest "k8s.io/kube-aggregator/pkg/registry/apiservice/rest"
	"k8s.io/kubernetes/pkg/kubeapiserver"
	admissionregistrationrest "k8s.io/kubernetes/pkg/registry/admissionregistration/rest"
	appsrest "k8s.io/kubernetes/pkg/registry/apps/rest"
	authenticationrest "k8s.io/kubernetes/pkg/registry/authentication/rest"
	authorizationrest "k8s.io/kubernetes/pkg/registry/authorization/rest"
	autoscalingrest "k8s.io/kubernetes/pkg/registry/autoscaling/rest"
	batchrest "k8s.io/kubernetes/pkg/registry/batch/rest"
	certificatesrest "k8s.io/kubernetes/pkg/registry/certificates/rest"
	coordinationrest "k8s.io/kubernetes/pkg/registry/coordination/rest"
	discoveryrest "k8s.io/kubernetes/pkg/registry/discovery/rest"
	eventsrest "k8s.io/kubernetes/pkg/registry/events/rest"
	networkingrest "k8s.io/kubernetes/pkg/registry/networking/rest"
	noderest "k8s.io/kubernetes/pkg/registry/node/rest"
	policyrest "k8s.io/kubernetes/pkg/registry/policy/rest"
	rbacrest "k8s.io/kubernetes/pkg/registry/rbac/rest"
	schedulingrest "k8s.io/kubernetes/pkg/registry/scheduling/rest"
	storagerest "k8s.io/kubernetes/pkg/registry/storage/rest"

	"github.com/kyma-project/lifecycle-manager/test/memfleet/internal/store"
)

// builtInGroups is what discovery says of the built-in kinds.
type builtInGroups struct {
	aggregated, legacy aggregated.ResourceManager
	groups             []metav1.APIGroup
}

// groups are the built-in APIs.
type groups struct {
	core    genericserver.APIGroupInfo
	named   []*genericserver.APIGroupInfo
	options generic.RESTOptionsGetter
}

// provider is what the packages of Kubernetes' registry have to install a group.
type provider interface {
	NewRESTStorage(serverstorage.APIResourceConfigSource, generic.RESTOptionsGetter) (genericserver.APIGroupInfo, error)
}

// enabled are the versions that are served by default.
func enabled() *serverstorage.ResourceConfig {
	config := serverstorage.NewResourceConfig()
	config.EnableVersions(
		schema.GroupVersion{Version: "v1"},
		apiextensionsv1.SchemeGroupVersion,
		apiregistrationv1.SchemeGroupVersion,
	)
	for group, version := range map[string]string{
		"admissionregistration.k8s.io": "v1", "apps": "v1", "authentication.k8s.io": "v1", "authorization.k8s.io": "v1",
		"batch": "v1", "certificates.k8s.io": "v1", "coordination.k8s.io": "v1", "discovery.k8s.io": "v1", "events.k8s.io": "v1",
		"networking.k8s.io": "v1", "node.k8s.io": "v1", "policy": "v1", "rbac.authorization.k8s.io": "v1",
		"scheduling.k8s.io": "v1", "storage.k8s.io": "v1",
	} {
		config.EnableVersions(schema.GroupVersion{Group: group, Version: version})
	}
	config.EnableVersions(schema.GroupVersion{Group: "autoscaling", Version: "v1"}, schema.GroupVersion{Group: "autoscaling", Version: "v2"})
	return config
}

func allGroups(backend *store.Backend) (*groups, error) {
	served := enabled()
	options, err := builtInOptions(backend, served)
	if err != nil {
		return nil, err
	}
	g := &groups{options: options}
	if g.core, err = coreGroup(options, served); err != nil {
		return nil, fmt.Errorf("make the storage of the core API: %w", err)
	}
	// The order of a real server.
	for _, p := range []provider{
		authenticationrest.RESTStorageProvider{Authenticator: nobody{}},
		authorizationrest.RESTStorageProvider{Authorizer: newAnyone(), RuleResolver: newAnyone()},
		autoscalingrest.RESTStorageProvider{},
		batchrest.RESTStorageProvider{},
		certificatesrest.RESTStorageProvider{Authorizer: newAnyone()},
		coordinationrest.RESTStorageProvider{},
		discoveryrest.StorageProvider{},
		networkingrest.RESTStorageProvider{},
		noderest.RESTStorageProvider{},
		policyrest.RESTStorageProvider{},
		rbacrest.RESTStorageProvider{Authorizer: newAnyone()},
		schedulingrest.RESTStorageProvider{},
		storagerest.RESTStorageProvider{},
		appsrest.StorageProvider{},
		admissionregistrationrest.RESTStorageProvider{Authorizer: newAnyone()},
		eventsrest.RESTStorageProvider{},
	} {
		info, err := p.NewRESTStorage(served, options)
		if err != nil {
			return nil, fmt.Errorf("make the storage of an API: %w", err)
		}
		g.named = append(g.named, &info)
	}
	definitions, err := definitionsGroup(typedOptions{backend, apiextensions.Codecs, apiextensionsv1.SchemeGroupVersion})
	if err != nil {
		return nil, fmt.Errorf("make the storage of definitions: %w", err)
	}
	completeAggregator()
	services := apiservicerest.NewRESTStorage(served,
		typedOptions{backend, aggregatorscheme.Codecs, apiregistrationv1.SchemeGroupVersion}, false)
	g.named = append(g.named, definitions, &services)
	return g, nil
}

// completeAggregator adds to the aggregator's scheme, which is the process's, what the aggregator itself does where it is
// started. Several servers may be made at once.
var completeAggregator = sync.OnceFunc(func() { //nolint:gochecknoglobals // so is the scheme
	metav1.AddToGroupVersion(aggregatorscheme.Scheme, schema.GroupVersion{Version: "v1"})
	aggregatorscheme.Scheme.AddUnversionedTypes(schema.GroupVersion{Version: "v1"},
		&metav1.Status{}, &metav1.APIVersions{}, &metav1.APIGroupList{}, &metav1.APIGroup{}, &metav1.APIResourceList{})
})

func definitionsGroup(options generic.RESTOptionsGetter) (*genericserver.APIGroupInfo, error) {
	info := genericserver.NewDefaultAPIGroupInfo(apiextensionsinternal.GroupName, apiextensions.Scheme, metav1.ParameterCodec, apiextensions.Codecs)
	storage, err := customresourcedefinition.NewREST(apiextensions.Scheme, options)
	if err != nil {
		return nil, err
	}
	info.VersionedResourcesStorageMap["v1"] = map[string]rest.Storage{
		"customresourcedefinitions":        storage,
		"customresourcedefinitions/status": customresourcedefinition.NewStatusREST(apiextensions.Scheme, storage),
	}
	return &info, nil
}

// discovered are the groups as discovery lists them.
func (g *groups) discovered() []metav1.APIGroup {
	all := make([]metav1.APIGroup, 0, len(g.named))
	for _, info := range g.named {
		group := metav1.APIGroup{Name: info.PrioritizedVersions[0].Group}
		for _, gv := range info.PrioritizedVersions {
			if len(info.VersionedResourcesStorageMap[gv.Version]) > 0 {
				group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version})
			}
		}
		group.PreferredVersion = group.Versions[0]
		all = append(all, group)
	}
	return all
}

// builtInOptions says how built-in kinds are stored: as a real server does, but in our storage.
func builtInOptions(backend *store.Backend, served *serverstorage.ResourceConfig) (generic.RESTOptionsGetter, error) {
	etcd := genericoptions.NewEtcdOptions(storagebackend.NewDefaultConfig("/registry", nil))
	etcd.DefaultStorageMediaType = runtime.ContentTypeProtobuf
	config := kubeapiserver.NewStorageFactoryConfig()
	config.APIResourceConfig = served
	factory, err := config.Complete(etcd).New()
	if err != nil {
		return nil, fmt.Errorf("make the storage factory: %w", err)
	}
	return factoryOptions{backend, factory}, nil
}

type factoryOptions struct {
	backend *store.Backend
	factory *serverstorage.DefaultStorageFactory
}

// GetRESTOptions implements generic.RESTOptionsGetter.
func (o factoryOptions) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	config, err := o.factory.NewConfig(resource, example)
	if err != nil {
		return generic.RESTOptions{}, fmt.Errorf("how %s is stored: %w", resource, err)
	}
	return restOptions(o.backend, config, resource), nil
}

// typedOptions is for the kinds of the API extensions and the aggregator, whose schemes are their own.
type typedOptions struct {
	backend *store.Backend
	codecs  interface {
		LegacyCodec(...schema.GroupVersion) runtime.Codec
	}
	external schema.GroupVersion
}

// GetRESTOptions implements generic.RESTOptionsGetter.
func (o typedOptions) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	config := storagebackend.NewDefaultConfig("/registry", o.codecs.LegacyCodec(o.external))
	config.EncodeVersioner = o.external
	return restOptions(o.backend, config.ForResource(resource), resource), nil
}

func restOptions(backend *store.Backend, config *storagebackend.ConfigForResource, resource schema.GroupResource) generic.RESTOptions {
	if resource.Group == "events.k8s.io" {
		// The same objects as in the core group.
		resource.Group = ""
	}
	config.GroupResource = resource
	return generic.RESTOptions{
		StorageConfig: config, Decorator: backend.Decorate, EnableGarbageCollection: true, DeleteCollectionWorkers: 1,
		ResourcePrefix: resource.Group + "/" + resource.Resource,
	}
}
