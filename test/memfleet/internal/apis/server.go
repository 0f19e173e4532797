// Package apis serves the Kubernetes API of any number of clusters with one instance of Kubernetes' own API server code:
// its handlers, strategies, defaulting, validation and managed fields. Which cluster a request is for is in its context
// (store.In). What differs from cluster to cluster are the stored objects, and the kinds that are served besides the
// built-in ones.
package apis

import (
	"fmt"
	"net/http"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apimachinery/pkg/util/sets"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	genericserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/client-go/rest"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"
	aggregatoropenapi "k8s.io/kube-aggregator/pkg/generated/openapi"
	openapicommon "k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/generated/openapi"

	"github.com/kyma-project/lifecycle-manager/test/memfleet/internal/store"
)

// Version is the Kubernetes release whose API is served: that of the modules in go.mod.
const Version = "v1.36.1"

// maxBody is the limit of a real server for the body of a request.
const maxBody = 3 * 1024 * 1024

// decodedObjects is how many decoded objects are kept, so that what thousands of clusters have in common is not decoded
// for each request.
const decodedObjects = 16384

// requestTimeout ends requests that are no watches.
const requestTimeout = time.Minute

// Server serves the requests of all clusters.
type Server struct {
	resolver *request.RequestInfoFactory
	builtIn  http.Handler
	groups   builtInGroups
	options  generic.RESTOptionsGetter
	// schemas are the OpenAPI models of metadata, of which those of custom resources are made.
	schemas     map[string]*spec.Schema
	definitions definitions
	repeats     repeats
}

// New returns a Server. It serves nothing but clusters' requests: see Server.ServeHTTP.
func New() (*Server, error) {
	backend := store.NewBackend(decodedObjects)
	s := &Server{repeats: newRepeats(), resolver: &request.RequestInfoFactory{APIPrefixes: sets.NewString("apis", "api"), GrouplessAPIPrefixes: sets.NewString("api")}}
	config := genericserver.NewConfig(legacyscheme.Codecs)
	config.ExternalAddress = "memfleet:443"
	config.LoopbackClientConfig = &rest.Config{}
	config.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	config.BuildHandlerChainFunc = func(handler http.Handler, _ *genericserver.Config) http.Handler { return handler }
	config.AdmissionControl = lifecycle{}
	config.Authorization.Authorizer = newAnyone()
	config.MaxRequestBodyBytes = maxBody
	config.EnableIndex, config.EnableMetrics, config.EnableProfiling, config.EnableDiscovery = false, false, false, false
	config.SkipOpenAPIInstallation = true
	config.RequestInfoResolver = s.resolver
	namer := openapinamer.NewDefinitionNamer(legacyscheme.Scheme, apiextensions.Scheme, aggregatorscheme.Scheme)
	config.OpenAPIV3Config = genericserver.DefaultOpenAPIV3Config(allDefinitions, namer)
	config.OpenAPIV3Config.Info.Title = "Kubernetes"
	groups, err := allGroups(backend)
	if err != nil {
		return nil, err
	}
	config.RESTOptionsGetter = groups.options
	server, err := config.Complete(nil).New("memfleet", genericserver.NewEmptyDelegate())
	if err != nil {
		return nil, fmt.Errorf("make the API server: %w", err)
	}
	if err := server.InstallLegacyAPIGroup(genericserver.DefaultLegacyAPIPrefix, &groups.core); err != nil {
		return nil, fmt.Errorf("install the core API: %w", err)
	}
	if err := server.InstallAPIGroups(groups.named...); err != nil {
		return nil, fmt.Errorf("install the APIs: %w", err)
	}
	s.builtIn = server.Handler.Director
	s.groups = builtInGroups{
		aggregated: server.AggregatedDiscoveryGroupManager, legacy: server.AggregatedLegacyDiscoveryGroupManager, groups: groups.discovered(),
	}
	s.schemas = groups.named[0].StaticOpenAPISpec
	s.options = customOptions{backend}
	return s, nil
}

func allDefinitions(ref openapicommon.ReferenceCallback) map[string]openapicommon.OpenAPIDefinition {
	all := openapi.GetOpenAPIDefinitions(ref)
	for name, definition := range aggregatoropenapi.GetOpenAPIDefinitions(ref) {
		if _, known := all[name]; !known {
			all[name] = definition
		}
	}
	return all
}
