package apis

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apiserver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	genericapi "k8s.io/apiserver/pkg/endpoints"
	discoveryendpoint "k8s.io/apiserver/pkg/endpoints/discovery"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"

	"github.com/kyma-project/lifecycle-manager/test/memfleet/internal/store"
)

// discovery answers what a cluster serves: by path, what is not among the built-in APIs.
type discovery struct{ handlers map[string]http.Handler }

func (b *builtInGroups) has(group string) bool {
	return group == "" || slices.ContainsFunc(b.groups, func(g metav1.APIGroup) bool { return g.Name == group })
}

func (s *Server) serveDiscovery(w http.ResponseWriter, req *http.Request, cluster *store.Cluster) {
	path := strings.TrimSuffix(req.URL.Path, "/")
	if handler, ok := s.definitionsOf(cluster).discovery().handlers[path]; ok {
		handler.ServeHTTP(w, req)
		return
	}
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if parts[0] == "api" || len(parts) > 1 && parts[0] == "apis" && parts[1] != "" && s.groups.has(parts[1]) {
		s.builtIn.ServeHTTP(w, req)
		return
	}
	notFound(w, req)
}

// discover makes the discovery of those who have these definitions.
func (s *Server) discover(all []*definition) *discovery {
	d := &discovery{handlers: map[string]http.Handler{}}
	root := discoveryendpoint.NewRootAPIsHandler(discoveryendpoint.DefaultAddresses{DefaultAddress: "memfleet:443"}, apiextensions.Codecs)
	for _, group := range s.groups.groups {
		root.AddGroup(group)
	}
	manager := aggregated.NewResourceManager("apis")
	manager.SetGroups(s.groups.aggregatedGroups())
	for name, versions := range versionsByGroup(all) {
		group := metav1.APIGroup{Name: name}
		for _, v := range versions {
			gv := schema.GroupVersion{Group: name, Version: v}
			group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: v})
			resources := resourcesOf(all, gv)
			lister := discoveryendpoint.APIResourceListerFunc(func() []metav1.APIResource { return resources })
			d.handlers["/apis/"+gv.String()] = discoveryendpoint.NewAPIVersionHandler(apiextensions.Codecs, gv, lister)
			if converted, err := genericapi.ConvertGroupVersionIntoToDiscovery(resourcesWithGroup(resources, gv)); err == nil {
				manager.AddGroupVersion(name, apidiscovery.APIVersionDiscovery{
					Version: v, Freshness: apidiscovery.DiscoveryFreshnessCurrent, Resources: converted,
				})
				manager.SetGroupVersionPriority(metav1.GroupVersion(gv), 1000, 100)
			}
		}
		group.PreferredVersion = group.Versions[0]
		root.AddGroup(group)
		d.handlers["/apis/"+name] = discoveryendpoint.NewAPIGroupHandler(apiextensions.Codecs, group)
	}
	d.handlers["/apis"] = aggregated.WrapAggregatedDiscoveryToHandler(root, manager, nil)
	return d
}

// versionsByGroup are the served versions, the most stable and newest first.
func versionsByGroup(all []*definition) map[string][]string {
	groups := map[string][]string{}
	for _, one := range all {
		group := one.crd.Spec.Group
		for _, v := range one.crd.Spec.Versions {
			if v.Served && !slices.Contains(groups[group], v.Name) {
				groups[group] = append(groups[group], v.Name)
			}
		}
	}
	for _, versions := range groups {
		slices.SortFunc(versions, func(a, b string) int { return version.CompareKubeAwareVersionStrings(b, a) })
	}
	return groups
}

// resourcesOf are the resources of one version of a group, as Kubernetes' own discovery controller lists them.
func resourcesOf(all []*definition, gv schema.GroupVersion) []metav1.APIResource {
	var resources []metav1.APIResource
	for _, one := range all {
		spec, names := one.crd.Spec, one.crd.Status.AcceptedNames
		at := slices.IndexFunc(spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == gv.Version && v.Served })
		if spec.Group != gv.Group || at < 0 {
			continue
		}
		verbs := metav1.Verbs{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}
		if slices.ContainsFunc(one.crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
			return c.Type == apiextensionsv1.Terminating && c.Status == apiextensionsv1.ConditionTrue
		}) {
			verbs = metav1.Verbs{"delete", "deletecollection", "get", "list", "watch"}
		}
		resource := metav1.APIResource{
			Name: names.Plural, SingularName: names.Singular, Namespaced: spec.Scope == apiextensionsv1.NamespaceScoped, Kind: names.Kind,
			Verbs: verbs, ShortNames: names.ShortNames, Categories: names.Categories,
		}
		for _, v := range spec.Versions {
			if v.Storage {
				resource.StorageVersionHash = discoveryendpoint.StorageVersionHash(gv.Group, v.Name, spec.Names.Kind)
			}
		}
		resources = append(resources, resource)
		sub := spec.Versions[at].Subresources
		changing := metav1.Verbs{"get", "patch", "update"}
		if sub != nil && sub.Status != nil {
			resources = append(resources, metav1.APIResource{Name: names.Plural + "/status", Namespaced: resource.Namespaced, Kind: names.Kind, Verbs: changing})
		}
		if sub != nil && sub.Scale != nil {
			resources = append(resources, metav1.APIResource{
				Group: "autoscaling", Version: "v1", Kind: "Scale", Name: names.Plural + "/scale", Namespaced: resource.Namespaced, Verbs: changing,
			})
		}
	}
	return resources
}

// resourcesWithGroup says of each resource what group version its kind is of.
func resourcesWithGroup(resources []metav1.APIResource, gv schema.GroupVersion) []metav1.APIResource {
	resources = slices.Clone(resources)
	for i := range resources {
		if resources[i].Version == "" {
			resources[i].Group, resources[i].Version = gv.Group, gv.Version
		}
	}
	return resources
}

// aggregatedGroups are the built-in groups as aggregated discovery lists them.
func (b *builtInGroups) aggregatedGroups() []apidiscovery.APIGroupDiscovery {
	req := httptest.NewRequest(http.MethodGet, "/apis", http.NoBody)
	req.Header.Set("Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
	recorder := httptest.NewRecorder()
	b.aggregated.ServeHTTP(recorder, req)
	var list apidiscovery.APIGroupDiscoveryList
	if err := json.Unmarshal(recorder.Body.Bytes(), &list); err != nil {
		panic(fmt.Sprintf("the library's own discovery cannot be read: %v", err))
	}
	return list.Items
}
