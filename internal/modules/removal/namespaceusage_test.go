package removal

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
)

// fakeServer is an API server with one namespace, "ns".
type fakeServer struct {
	// objects are the objects by plural.
	objects map[string][]metav1.PartialObjectMetadata
	// refused holds the status codes of the LISTs of some plurals; 0 means no answer at all.
	refused map[string]int
	// silent makes the discovery of the group example.com fail.
	silent bool
	// starting makes the server not ready. It does not serve example.com yet.
	starting bool
}

func (c fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind := func(name, kind string, verbs ...string) metav1.APIResource {
		return metav1.APIResource{Name: name, Kind: kind, Namespaced: true, Verbs: verbs}
	}
	answer := func(code int, body any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(body)
	}
	group := func(name string) metav1.APIGroup {
		version := metav1.GroupVersionForDiscovery{GroupVersion: name + "/v1", Version: "v1"}
		return metav1.APIGroup{Name: name, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version}
	}
	groups := []metav1.APIGroup{group("apps"), group("example.com")}
	ready := http.StatusOK
	if c.starting {
		groups, ready = groups[:1], http.StatusInternalServerError
	}
	switch r.URL.Path {
	case "/readyz":
		w.WriteHeader(ready)
	case "/api":
		answer(http.StatusOK, metav1.APIVersions{Versions: []string{"v1"}})
	case "/apis":
		answer(http.StatusOK, metav1.APIGroupList{Groups: groups})
	case "/api/v1":
		answer(http.StatusOK, metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{
			kind("secrets", "Secret", "list", "delete"), kind("pods", "Pod", "list", "delete"), kind("pods/log", "Pod", "get"),
			kind("events", "Event", "list", "delete"), kind("configmaps", "ConfigMap", "list", "delete"),
			kind("persistentvolumeclaims", "PersistentVolumeClaim", "list", "delete"),
		}})
	case "/apis/apps/v1":
		answer(http.StatusOK, metav1.APIResourceList{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{
			kind("replicasets", "ReplicaSet", "list", "delete"), kind("deployments", "Deployment", "list", "delete"),
		}})
	case "/apis/example.com/v1":
		if c.silent {
			answer(http.StatusServiceUnavailable, metav1.Status{Status: metav1.StatusFailure, Code: http.StatusServiceUnavailable})
			return
		}
		answer(http.StatusOK, metav1.APIResourceList{GroupVersion: "example.com/v1", APIResources: []metav1.APIResource{
			kind("widgets", "Widget", "list", "delete"), kind("measures", "Measure", "list"),
		}})
	default:
		parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
		at := len(parts) - 1
		if name, isGet := parts[at], parts[at-1] != "ns"; isGet {
			for _, o := range c.objects[parts[at-1]] {
				if o.Name == name {
					answer(http.StatusOK, o)
					return
				}
			}
			answer(http.StatusNotFound, metav1.Status{Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound})
			return
		}
		if code, refused := c.refused[parts[at]]; refused {
			if code == 0 {
				<-r.Context().Done()
				return
			}
			answer(code, metav1.Status{Status: metav1.StatusFailure, Code: int32(code), Message: "as told"}) //nolint:gosec // a status code
			return
		}
		answer(http.StatusOK, metav1.PartialObjectMetadataList{
			TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}, Items: c.objects[parts[at]],
		})
	}
}

// pluralsMapper knows all kinds of Kubernetes and of example.com.
type pluralsMapper struct{}

func (pluralsMapper) Resource(_ context.Context, gvk schema.GroupVersionKind) (kinds.Resource, error) {
	if _, builtIn := kinds.BuiltIn(gvk.GroupKind()); !builtIn && gvk.Group != "example.com" {
		return kinds.Resource{}, &meta.NoKindMatchError{GroupKind: gvk.GroupKind()}
	}
	return kinds.Resource{GroupVersionResource: gvk.GroupVersion().WithResource(strings.ToLower(gvk.Kind) + "s"), Namespaced: true}, nil
}

func ownedObject(name string, owners ...metav1.OwnerReference) metav1.PartialObjectMetadata {
	return metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid of " + name), OwnerReferences: owners},
	}
}

func ownedBy(apiVersion, kind, name string) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID("uid of " + name)}
}

func TestObjectsOfOthersKeepANamespace(t *testing.T) {
	t.Parallel()
	type byPlural = map[string][]metav1.PartialObjectMetadata
	going := ownedObject("going")
	going.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	marked := ownedObject("marked")
	marked.Annotations = map[string]string{shared.AnnotationOwnedBy: "ns/m"}
	foreign := ownedObject("foreign")
	foreign.Annotations = map[string]string{shared.AnnotationOwnedBy: "ns/another"}
	another := ownedBy("example.com/v1", "Widget", "widget")
	another.UID = "uid of the one before"
	for name, c := range map[string]struct {
		cluster fakeServer
		why     string
		fails   bool
	}{
		"nothing": {},
		"the module's objects, objects being deleted, and objects in every namespace": {cluster: fakeServer{objects: byPlural{
			"secrets": {marked, going}, "configmaps": {ownedObject("kube-root-ca.crt")}, "events": {ownedObject("event")},
			"measures": {ownedObject("cannot be deleted")},
		}}},
		"a user's Secret":         {cluster: fakeServer{objects: byPlural{"secrets": {ownedObject("mine")}}}, why: "in use by Secret ns/mine"},
		"another module's object": {cluster: fakeServer{objects: byPlural{"secrets": {foreign}}}, why: "in use by Secret ns/foreign"},
		"a custom resource":       {cluster: fakeServer{objects: byPlural{"widgets": {ownedObject("mine")}}}, why: "in use by Widget ns/mine"},
		"a user's ConfigMap":      {cluster: fakeServer{objects: byPlural{"configmaps": {ownedObject("mine")}}}, why: "in use by ConfigMap ns/mine"},
		"a dependent of a user's object": {cluster: fakeServer{objects: byPlural{
			"persistentvolumeclaims": {ownedObject("data", ownedBy("example.com/v1", "Widget", "widget"))}, "widgets": {ownedObject("widget")},
		}}, why: "in use by PersistentVolumeClaim ns/data"},
		"leftovers of a deleted workload": {cluster: fakeServer{objects: byPlural{
			"replicasets": {ownedObject("set", ownedBy("apps/v1", "Deployment", "gone"))},
			"pods":        {ownedObject("pod", ownedBy("apps/v1", "ReplicaSet", "set")), ownedObject("pod-2", ownedBy("apps/v1", "ReplicaSet", "gone too"))},
		}}},
		"a pod of a workload of others": {cluster: fakeServer{objects: byPlural{
			"deployments": {ownedObject("theirs")},
			"replicasets": {ownedObject("set", ownedBy("apps/v1", "Deployment", "theirs"))},
			"pods":        {ownedObject("pod", ownedBy("apps/v1", "ReplicaSet", "set"))},
		}}, why: "in use by Pod ns/pod"},
		"a dependent with one existing owner": {cluster: fakeServer{objects: byPlural{
			"secrets": {ownedObject("s", ownedBy("example.com/v1", "Widget", "gone"), ownedBy("example.com/v1", "Widget", "widget"))},
			"widgets": {ownedObject("widget")},
		}}, why: "in use by Secret ns/s"},
		"a dependent of an owner that was created again": {cluster: fakeServer{objects: byPlural{"secrets": {ownedObject("s", another)}, "widgets": {
			func() metav1.PartialObjectMetadata { w := marked; w.Name = "widget"; return w }(),
		}}}},
		"a dependent of an owner of a deleted kind": {cluster: fakeServer{objects: byPlural{"secrets": {ownedObject("s", ownedBy("gone.example.org/v1", "Widget", "w"))}}}},
		"a kind that cannot be listed":              {cluster: fakeServer{refused: map[string]int{"widgets": 503}}, why: "its widgets.example.com cannot be listed"},
		"a kind with an API that does not answer":   {cluster: fakeServer{refused: map[string]int{"widgets": 0}}, why: "the API of widgets.example.com does not answer"},
		"a kind that must not be listed":            {cluster: fakeServer{refused: map[string]int{"secrets": 403}}, why: "its secrets cannot be listed"},
		"a kind that was deleted meanwhile":         {cluster: fakeServer{refused: map[string]int{"widgets": 404}}},
		"a group that does not answer":              {cluster: fakeServer{silent: true}, why: "the API server does not say which objects of example.com/v1 are in it"},
		"a built-in kind that fails for once":       {cluster: fakeServer{refused: map[string]int{"secrets": 500}}, fails: true},
		"a server that has just started":            {cluster: fakeServer{starting: true}, fails: true},
		"a cluster that asks to retry later":        {cluster: fakeServer{refused: map[string]int{"widgets": 429}}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(c.cluster)
			t.Cleanup(server.Close)
			config := &rest.Config{Host: server.URL}
			client, err := metadata.NewForConfig(config)
			require.NoError(t, err)
			asks, err := discovery.NewDiscoveryClientForConfig(config)
			require.NoError(t, err)
			r := &Remover{
				Target: objects.Target{
					Cluster: &clusters.Cluster{Metadata: client, Discovery: asks}, Mapper: kinds.Mapper{Cluster: pluralsMapper{}},
					Owner: inventory.Owner{Name: "m", Mark: "ns/m"},
				},
				Gone: map[string]bool{},
			}
			why, err := r.usedByOthers(t.Context(), "ns")
			require.Equal(t, c.fails, err != nil, "%v", err)
			require.Equal(t, c.why, why)
		})
	}
}
