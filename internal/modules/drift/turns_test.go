package drift

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/agent"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/installations"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
)

// remote is a cluster that answers LISTs of installed objects and counts the LISTs.
type remote struct {
	mu      sync.Mutex
	objects []*unstructured.Unstructured
	lists   []string
}

func (r *remote) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	plural := path.Base(request.URL.Path)
	r.lists = append(r.lists, request.Method+" "+plural)
	list := map[string]any{"kind": "List", "apiVersion": "v1"}
	onlyMetadata := strings.Contains(request.Header.Get("Accept"), "as=PartialObjectMetadataList")
	if onlyMetadata {
		list = map[string]any{"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1"}
	}
	items := []any{}
	for _, o := range r.objects {
		kind, _ := kinds.BuiltIn(o.GroupVersionKind().GroupKind())
		switch {
		case kind.Plural != plural:
		case onlyMetadata:
			items = append(items, map[string]any{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": o.Object["metadata"]})
		default:
			items = append(items, o.Object)
		}
	}
	list["items"] = items
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(list)
}

// take returns the requests since the last call.
func (r *remote) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.lists
	r.lists = nil
	return all
}

// install adds objects of a Manifest to the cluster and records them in its status.
func (r *remote) install(t *testing.T, m *v1beta2.Manifest, objects ...*unstructured.Unstructured) {
	t.Helper()
	var entries []v1beta2.InventoryEntry
	for i, o := range objects {
		o.SetUID(types.UID(m.Name + "-" + o.GetKind() + "-" + o.GetName()))
		o.SetGeneration(1)
		o.SetAnnotations(map[string]string{shared.AnnotationOwnedBy: inventory.OwnerOf(m).Mark, shared.AnnotationAppliedDigest: "digest"})
		o.SetManagedFields([]metav1.ManagedFieldsEntry{{
			Manager: shared.FieldManagerModuleResources, Operation: metav1.ManagedFieldsOperationApply, APIVersion: o.GetAPIVersion(),
			FieldsType: "FieldsV1", FieldsV1: fieldsOf(`{"f:spec":{}}`),
		}})
		if o.GetKind() == "Deployment" {
			o.Object["status"] = map[string]any{
				"observedGeneration": int64(1), "replicas": int64(1), "updatedReplicas": int64(1), "readyReplicas": int64(1), "availableReplicas": int64(1),
				"conditions": []any{map[string]any{"type": "Available", "status": "True"}},
			}
		}
		entry, err := v1beta2.NewInventoryEntry(o.GroupVersionKind(), types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()})
		require.NoError(t, err)
		entry.UID, entry.Hash = string(o.GetUID()), inventory.ObjectHash(objects[i])
		entries = append(entries, entry)
		r.objects = append(r.objects, o)
	}
	m.UID = types.UID(m.Name)
	inventory.SetInventory(&m.Status, entries)
	m.Status.State, m.Status.Settled = shared.StateReady, true
	m.Status.InputsDigest = manifests.InputsDigest(m)
}

func object(apiVersion, kind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "spec": map[string]any{"replicas": int64(1)}}}
	u.SetNamespace("module")
	u.SetName(name)
	return u
}

// sweeping is a cluster with an agent and a module. Its passes compare the objects with the informers' Manifests.
type sweeping struct {
	*remote
	prober        *Prober
	cluster       *clusters.Cluster
	agent, module *v1beta2.Manifest
}

func newSweeping(t *testing.T) *sweeping {
	t.Helper()
	s := &sweeping{remote: &remote{}, module: &v1beta2.Manifest{ObjectMeta: metav1.ObjectMeta{Namespace: "kcp-system", Name: "module"}}}
	kyma := &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Namespace: "kcp-system", Name: "kyma", UID: "kyma"}}
	spec := agent.Spec{Image: "agent:1", Listener: "events.example.com:443", Authorities: "PEM"}
	s.agent = agent.NewManifest(kyma, metav1.OwnerReference{}, desired.Settings{}.WithDefaults(), desired.Sync{Namespace: "kyma-system"}, spec)
	objects, err := spec.Objects("kyma-system")
	require.NoError(t, err)
	s.install(t, s.agent, objects...)
	s.install(t, s.module, object("v1", "ConfigMap", "settings"), object("v1", "Service", "operator"), object("apps/v1", "Deployment", "operator"))

	server := httptest.NewServer(s.remote)
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, QPS: -1}
	discoveryClient, err := discovery.NewDiscoveryClientForConfig(config)
	require.NoError(t, err)
	metadataClient, err := metadata.NewForConfig(config)
	require.NoError(t, err)
	s.cluster = &clusters.Cluster{Metadata: metadataClient, Discovery: discoveryClient, Mapper: clusters.NewMapper(discoveryClient.RESTClient())}

	scheme := runtime.NewScheme()
	require.NoError(t, v1beta2.AddToScheme(scheme))
	steps, err := manifests.New(manifests.Options{
		ControlPlane: installations.Client(fake.NewClientBuilder().WithScheme(scheme).WithObjects(installations.Resource(s.agent), s.module).Build()),
		Clusters:     struct{ manifests.Access }{},
	})
	require.NoError(t, err)
	s.prober = New(steps)
	return s
}

// pass runs one pass of the sweep over these Manifests. It returns which of them differ, and the requests that the
// pass made.
func (s *sweeping) pass(t *testing.T, number int, modules ...*v1beta2.Manifest) (differ, requests []string) {
	t.Helper()
	at := &site{cluster: s.cluster}
	for _, m := range modules {
		cached := m.DeepCopy()
		var received any = cached
		if desired.IsAgent(cached) {
			received = (*v1beta2.RemoteAgent)(cached)
		}
		_, err := fleet.Strip(received)
		require.NoError(t, err)
		at.modules = append(at.modules, cached)
	}
	s.take()
	found := &differences{}
	require.NoError(t, s.prober.compareObjects(t.Context(), at, number, found))
	require.Empty(t, found.failed)
	for _, d := range found.all {
		require.Equal(t, differsInResources, d.Reason)
		differ = append(differ, d.Manifest.Name)
	}
	return differ, s.take()
}

// Together with the metadata of its Secret (package sync), the agent adds two requests to an idle pass.
func TestTheAgentAddsOneRequestToAPassOverModules(t *testing.T) {
	s := newSweeping(t)
	_, without := s.pass(t, 0, s.module)
	require.ElementsMatch(t, []string{"GET configmaps", "GET services", "GET deployments"}, without)
	for with, modules := range map[string][]*v1beta2.Manifest{"a module beside it": {s.agent, s.module}, "no module": {s.agent}} {
		base := len(without) * (len(modules) - 1)
		listed := map[string]bool{}
		passes := len(s.agent.Status.Kinds)
		for number := range passes {
			differ, requests := s.pass(t, number, modules...)
			require.Empty(t, differ, with)
			require.LessOrEqual(t, len(requests), base+1, "%s, pass %d: %v", with, number, requests)
			for _, request := range requests {
				listed[request] = true
			}
		}
		for _, plural := range []string{"priorityclasses", "networkpolicies", "validatingwebhookconfigurations", "services", "deployments"} {
			require.True(t, listed["GET "+plural], "%s: %s have no turn", with, plural)
		}
	}
}

func TestEachObjectOfTheAgentIsComparedWithinAFewPasses(t *testing.T) {
	const passes = 3 // as many as the agent has kinds that the module lacks
	count := len(newSweeping(t).agent.Status.Inventory)
	require.NotZero(t, count)
	for i := range count {
		for what, change := range map[string]func(*sweeping){
			"gone":    func(s *sweeping) { s.objects = slices.Delete(s.objects, i, i+1) },
			"changed": func(s *sweeping) { s.objects[i].SetManagedFields(nil) },
			"again":   func(s *sweeping) { s.objects[i].SetUID("another") },
		} {
			s := newSweeping(t)
			name := s.objects[i].GetKind() + " " + s.objects[i].GetName()
			change(s)
			var seen []string
			for number := range passes {
				differ, _ := s.pass(t, 7+number, s.agent, s.module)
				seen = append(seen, differ...)
			}
			require.Contains(t, seen, s.agent.Name, "%s is %s", name, what)
			require.NotContains(t, seen, s.module.Name, "%s is %s", name, what)
		}
	}
}

func TestAnAgentWhoseInventoryIsNotKnownIsComparedAsAWhole(t *testing.T) {
	s := newSweeping(t)
	cached := s.agent.DeepCopy()
	cached.Status.Inventory = nil
	differ, requests := s.pass(t, 0, cached, s.module)
	require.Empty(t, differ)
	require.Len(t, requests, 6)
}
