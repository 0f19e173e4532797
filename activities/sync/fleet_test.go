package sync_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/deploy/crds"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// pair is a control plane and a remote cluster with real API servers, with separate namespaces for each test.
type pair struct {
	t               *testing.T
	namespace       string
	control, remote client.Client
	catalog         client.Reader
	requests        *requests
	sync            *syncing.Activities
}

// requests records the requests to the remote cluster about our own kinds. Lists are recorded with the requested format.
type requests struct {
	mu   sync.Mutex
	list []string
}

type counted struct {
	*requests
	next http.RoundTripper
}

func (c counted) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, what, ours := strings.Cut(r.URL.Path, "/apis/operator.kyma-project.io/v1beta2/"); ours {
		request := r.Method + " " + what
		if strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata") {
			request += " metadata"
		}
		c.mu.Lock()
		c.list = append(c.list, request)
		c.mu.Unlock()
	}
	return c.next.RoundTrip(r)
}

func (r *requests) since() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.list
	r.list = nil
	return list
}

func connect(t *testing.T, path string) client.Client {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", path)
	require.NoError(t, err)
	config.QPS, config.Burst = 200, 200
	c, err := client.New(config, client.Options{Scheme: desiredtest.Scheme()})
	require.NoError(t, err)
	return c
}

func newPair(t *testing.T) *pair {
	t.Helper()
	controlPath, remotePath := testfleet.Require(t, "LM_TEST_CONTROL_PLANE"), testfleet.Require(t, "LM_TEST_REMOTE")
	if other := os.Getenv("FLEET_REMOTE_1_KUBECONFIG"); other != "" && other != controlPath {
		// Tests of other packages, which run at the same time, remove our CRDs from the usual cluster.
		remotePath = other
	}
	ctx := context.Background()
	p := &pair{t: t, requests: &requests{}, control: connect(t, controlPath), remote: connect(t, remotePath)}
	p.namespace = fmt.Sprintf("sync-%d", time.Now().UnixNano())
	p.define()
	t.Cleanup(p.leave)
	for _, c := range []client.Client{p.control, p.remote} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespace}}
		require.NoError(t, c.Create(ctx, namespace))
		t.Cleanup(func() { require.NoError(t, client.IgnoreNotFound(c.Delete(ctx, namespace))) })
	}
	kubeconfig, err := os.ReadFile(remotePath)
	require.NoError(t, err)
	require.NoError(t, p.control.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "access", Namespace: p.namespace, Labels: map[string]string{shared.LabelKymaName: "kyma-sample"}},
		Data:       map[string][]byte{"config": kubeconfig},
	}))
	config, err := clientcmd.BuildConfigFromFlags("", controlPath)
	require.NoError(t, err)
	registry, err := clusters.New(clusters.Options{
		ControlPlane: config, Scheme: desiredtest.Scheme(),
		WrapTransport: func(_ string, next http.RoundTripper) http.RoundTripper { return counted{p.requests, next} },
	})
	require.NoError(t, err)
	p.catalog = p.cached(controlPath)
	definitions, err := crds.Get(crds.Kymas, crds.ModuleTemplates, crds.ModuleReleaseMetas)
	require.NoError(t, err)
	p.sync, err = syncing.New(syncing.Options{
		Settings: desired.Settings{ManagedBy: p.namespace}, ControlPlane: p.control, Catalog: p.catalog, Clusters: registry,
		Definitions: definitions, Version: "1.0.0", RemoteTemplateRegistries: []string{"registry.example.com"},
	})
	require.NoError(t, err)

	on := true
	kyma := desiredtest.Kyma()
	kyma.Generation = 0
	kyma.Spec.Sync = &v1beta2.Sync{Enabled: &on}
	p.offer(kyma)
	return p
}

// cached returns a cache of this test's namespace in the control plane, with the indexes that lookups need.
func (p *pair) cached(path string) client.Reader {
	p.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", path)
	require.NoError(p.t, err)
	catalog, err := cache.New(config, cache.Options{
		Scheme: desiredtest.Scheme(), DefaultNamespaces: map[string]cache.Config{p.namespace: {}},
	})
	require.NoError(p.t, err)
	ctx, stop := context.WithCancel(context.Background())
	require.NoError(p.t, desired.RegisterIndexes(ctx, catalog))
	ended := make(chan error, 1)
	go func() { ended <- catalog.Start(ctx) }()
	p.t.Cleanup(func() {
		stop()
		require.NoError(p.t, <-ended)
	})
	for _, object := range []client.Object{&v1beta2.ModuleTemplate{}, &v1beta2.ModuleReleaseMeta{}} {
		_, err := catalog.GetInformer(ctx, object)
		require.NoError(p.t, err)
	}
	require.True(p.t, catalog.WaitForCacheSync(ctx))
	return catalog
}

// define creates the CRDs, unless another test has, and waits until they are served.
func (p *pair) define() {
	p.t.Helper()
	for _, c := range []client.Client{p.control, p.remote} {
		require.Eventually(p.t, func() bool {
			definitions, err := crds.All()
			require.NoError(p.t, err)
			for _, definition := range definitions {
				if err := c.Create(context.Background(), definition); err != nil && !apierrors.IsAlreadyExists(err) {
					return false
				}
			}
			return isServed(c, definitions)
		}, 2*time.Minute, 200*time.Millisecond)
	}
}

// isServed asks a cluster for the kind of each CRD, and reports whether it serves all of them.
func isServed(c client.Client, definitions map[string]*apiextensionsv1.CustomResourceDefinition) bool {
	served := true
	for _, definition := range definitions {
		stored := slices.IndexFunc(definition.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage })
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{
			Group: definition.Spec.Group, Version: definition.Spec.Versions[stored].Name, Kind: definition.Spec.Names.ListKind,
		})
		served = c.List(context.Background(), list, client.Limit(1)) == nil && served
	}
	return served
}

// leave removes the CRDs from the remote cluster, because later tests expect none, and releases the Kyma.
func (p *pair) leave() {
	ctx := context.Background()
	kyma := &v1beta2.Kyma{}
	if p.control.Get(ctx, types.NamespacedName{Namespace: p.namespace, Name: "kyma-sample"}, kyma) == nil {
		kyma.Finalizers = nil
		require.NoError(p.t, p.control.Update(ctx, kyma))
	}
	all, err := crds.All()
	require.NoError(p.t, err)
	// If an API server has to serve a kind for the first time while it deletes the CRD, the deletion fails, and the
	// server retries only minutes later. If the kind is no longer served, this request fails, which is fine.
	isServed(p.remote, all)
	for _, definition := range all {
		require.NoError(p.t, client.IgnoreNotFound(p.remote.Delete(ctx, definition)))
	}
	require.Eventually(p.t, func() bool {
		for _, definition := range all {
			if !apierrors.IsNotFound(p.remote.Get(ctx, client.ObjectKeyFromObject(definition), definition)) {
				return false
			}
		}
		return true
	}, 3*time.Minute, 200*time.Millisecond)
}

// offer creates an object of this instance in the control plane.
func (p *pair) offer(object client.Object) {
	p.t.Helper()
	labels := object.GetLabels()
	labels[shared.LabelManagedBy] = p.namespace
	object.SetLabels(labels)
	object.SetNamespace(p.namespace)
	object.SetUID("")
	require.NoError(p.t, p.control.Create(context.Background(), object))
	p.settle()
}

// settle waits until the cache shows the current templates.
func (p *pair) settle() {
	p.t.Helper()
	versions := func(from client.Reader) []string {
		var templates v1beta2.ModuleTemplateList
		require.NoError(p.t, from.List(context.Background(), &templates, client.InNamespace(p.namespace)))
		var metas v1beta2.ModuleReleaseMetaList
		require.NoError(p.t, from.List(context.Background(), &metas, client.InNamespace(p.namespace)))
		var all []string
		for _, item := range templates.Items {
			all = append(all, item.ResourceVersion)
		}
		for _, item := range metas.Items {
			all = append(all, item.ResourceVersion)
		}
		slices.Sort(all)
		return all
	}
	require.Eventually(p.t, func() bool { return slices.Equal(versions(p.control), versions(p.catalog)) }, time.Minute, 10*time.Millisecond)
}

// reconcile runs one synchronization and records its requests to the remote cluster.
func (p *pair) reconcile() syncing.Result {
	p.t.Helper()
	p.settle()
	p.requests.since()
	result, err := p.sync.SyncRemote(context.Background(), syncing.Input{Ref: kick.RefOf(p.kyma())})
	require.NoError(p.t, err)
	p.settle()
	return result
}

func (p *pair) kyma() *v1beta2.Kyma {
	p.t.Helper()
	kyma := &v1beta2.Kyma{}
	require.NoError(p.t, p.control.Get(context.Background(), types.NamespacedName{Namespace: p.namespace, Name: "kyma-sample"}, kyma))
	return kyma
}

func (p *pair) inRemote(name string) *v1beta2.ModuleTemplate {
	p.t.Helper()
	template := &v1beta2.ModuleTemplate{}
	require.NoError(p.t, p.remote.Get(context.Background(), types.NamespacedName{Namespace: p.namespace, Name: name}, template))
	return template
}

func TestTheCatalogOnRealClusters(t *testing.T) {
	p := newPair(t)
	ctx := context.Background()
	p.offer(desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	p.offer(desiredtest.Template("btp", "1.0.0"))
	p.offer(desiredtest.ReleaseMeta("btp", "regular=1.0.0"))
	require.True(t, p.reconcile().Faults[fault.PartCatalog].IsZero())
	original := p.inRemote("keda-regular").Spec

	steady := []string{
		"GET namespaces/" + p.namespace + "/kymas/kyma-sample",
		"GET namespaces/" + p.namespace + "/moduletemplates metadata",
		"GET namespaces/" + p.namespace + "/modulereleasemetas metadata",
	}
	result := p.reconcile()
	require.Zero(t, result.Writes)
	require.Equal(t, steady, p.requests.since(), "one list of metadata for each kind")

	for name, edit := range map[string]func(*v1beta2.ModuleTemplate){
		"a field that we set":          func(m *v1beta2.ModuleTemplate) { m.Spec.Channel = "fast" },
		"a field that we do not set":   func(m *v1beta2.ModuleTemplate) { m.Spec.Mandatory, m.Spec.RequiresDowntime = true, true },
		"an object that we do not set": func(m *v1beta2.ModuleTemplate) { m.Spec.Data = &runtime.RawExtension{Raw: []byte(`{"kind":"X"}`)} },
		"a list that we do not set":    func(m *v1beta2.ModuleTemplate) { m.Spec.Resources = []v1beta2.Resource{{Name: "x", Link: "https://x"}} },
		"a missing descriptor":         func(m *v1beta2.ModuleTemplate) { m.Spec.Descriptor = nil },
		"a field within the descriptor": func(m *v1beta2.ModuleTemplate) {
			m.Spec.Descriptor.Raw = []byte(strings.Replace(string(m.Spec.Descriptor.Raw), `"component":{`, `"component":{"creationTime":"x",`, 1))
		},
		"a label":               func(m *v1beta2.ModuleTemplate) { delete(m.Labels, shared.LabelModuleName) },
		"managed fields":        func(m *v1beta2.ModuleTemplate) { m.ManagedFields = []metav1.ManagedFieldsEntry{{}} },
		"a spec and our digest": func(m *v1beta2.ModuleTemplate) { m.Spec.Channel = "fast"; m.Annotations = nil },
	} {
		t.Run("an edit is reverted: "+name, func(t *testing.T) {
			edited := p.inRemote("keda-regular")
			edit(edited)
			require.NoError(t, p.remote.Update(ctx, edited, client.FieldOwner("kubectl-edit")))
			result := p.reconcile()
			require.True(t, result.Faults[fault.PartCatalog].IsZero(), result.Faults[fault.PartCatalog].Message)
			require.Positive(t, result.Writes)
			require.LessOrEqual(t, result.Writes, 3)
			for _, request := range p.requests.since() {
				if !strings.HasPrefix(request, "GET") {
					require.Contains(t, request, "moduletemplates/keda-regular", "nothing else is written")
				}
			}
			restored := p.inRemote("keda-regular")
			require.JSONEq(t, string(original.Descriptor.Raw), string(restored.Spec.Descriptor.Raw))
			restored.Spec.Descriptor = original.Descriptor
			require.Equal(t, original, restored.Spec)
			require.Equal(t, "keda", restored.Labels[shared.LabelModuleName])
			require.Zero(t, p.reconcile().Writes, "the next synchronization writes nothing")
		})
	}

	userProvided := desiredtest.ChannelTemplate("mine", "regular", "9.0.0")
	userProvided.Namespace, userProvided.UID, userProvided.Name = p.namespace, "", "other-regular"
	require.NoError(t, p.remote.Create(ctx, userProvided, client.FieldOwner("kubectl-create")))
	p.offer(desiredtest.ChannelTemplate("other", "regular", "1.0.0"))
	result = p.reconcile()
	require.Contains(t, result.Faults[fault.PartCatalog].Message, "ModuleTemplate other-regular")
	require.Equal(t, "mine", p.inRemote("other-regular").Labels[shared.LabelModuleName], "the template belongs to its owner")
	require.Zero(t, result.Writes)

	template := &v1beta2.ModuleTemplate{}
	require.NoError(t, p.control.Get(ctx, types.NamespacedName{Namespace: p.namespace, Name: "keda-regular"}, template))
	template.Labels[shared.LabelBeta] = "true"
	require.NoError(t, p.control.Update(ctx, template))
	require.Equal(t, 1, p.reconcile().Writes)
	require.Contains(t, p.requests.since(), "DELETE namespaces/"+p.namespace+"/moduletemplates/keda-regular")

	off := false
	kyma := p.kyma()
	kyma.Spec.Sync.ModuleCatalog = &off
	require.NoError(t, p.control.Update(ctx, kyma))
	result = p.reconcile()
	require.True(t, result.CatalogOff)
	require.Equal(t, 2, result.Writes)
	var left v1beta2.ModuleTemplateList
	require.NoError(t, p.remote.List(ctx, &left, client.InNamespace(p.namespace)))
	require.Len(t, left.Items, 1)
	require.Equal(t, "other-regular", left.Items[0].Name)
}

func TestAUserProvidedTemplateOnRealClusters(t *testing.T) {
	p := newPair(t)
	ctx := context.Background()
	p.reconcile()
	made := desiredtest.Template("mine", "1.0.0")
	made.Namespace, made.UID = p.namespace, ""
	made.Spec.Mandatory, made.Spec.Target = true, v1beta2.TargetControlPlane
	require.NoError(t, p.remote.Create(ctx, made))
	copied := &v1beta2.Kyma{}
	require.NoError(t, p.remote.Get(ctx, types.NamespacedName{Namespace: p.namespace, Name: "kyma-sample"}, copied))
	copied.Spec.Modules = []v1beta2.Module{{Name: "own", RemoteModuleTemplateRef: made.Name}, {Name: "mine-1.0.0"}}
	require.NoError(t, p.remote.Update(ctx, copied))

	result := p.reconcile()
	require.Empty(t, result.Refused)
	require.Len(t, result.Imported, 1, "two entries refer to the same template")
	key := types.NamespacedName{Namespace: p.namespace, Name: desired.ImportedName(p.kyma(), p.namespace, made.Name)}
	taken := &v1beta2.ModuleTemplate{}
	require.NoError(t, p.control.Get(ctx, key, taken))
	require.Equal(t, result.Imported[0].ResourceVersion, taken.ResourceVersion)
	require.Equal(t, v1beta2.TargetRemote, taken.Spec.Target)
	require.False(t, taken.Spec.Mandatory)
	for _, module := range copied.Spec.Modules {
		templates, _, err := desired.UserProvided(ctx, desired.NewCached(p.catalog), desired.Settings{ManagedBy: p.namespace}, p.kyma().UID, module, p.namespace)
		require.NoError(t, err)
		require.Len(t, templates, 1, module.Name)
	}

	require.Empty(t, p.reconcile().Imported)
	require.Len(t, p.requests.since(), 3, "the catalog's list shows that the template is unchanged")
	unchanged := &v1beta2.ModuleTemplate{}
	require.NoError(t, p.control.Get(ctx, key, unchanged))
	require.Equal(t, taken.ResourceVersion, unchanged.ResourceVersion)

	taken.Spec.Mandatory, taken.Spec.RequiresDowntime = true, true
	require.NoError(t, p.control.Update(ctx, taken))
	made = p.inRemote(made.Name)
	made.Spec.Info = &v1beta2.ModuleInfo{Repository: "https://example.com"}
	require.NoError(t, p.remote.Update(ctx, made))
	require.Len(t, p.reconcile().Imported, 1)
	taken = &v1beta2.ModuleTemplate{}
	require.NoError(t, p.control.Get(ctx, key, taken))
	require.Equal(t, "https://example.com", taken.Spec.Info.Repository)
	require.False(t, taken.Spec.Mandatory || taken.Spec.RequiresDowntime, "additions to the copy are removed")
	require.Empty(t, p.reconcile().Imported)

	kyma := p.kyma()
	require.NoError(t, p.control.Delete(ctx, kyma))
	kyma = p.kyma()
	require.NoError(t, p.control.Get(ctx, key, taken), "the copy stays as long as the Kyma exists")
	kyma.Finalizers = nil
	require.NoError(t, p.control.Update(ctx, kyma))
	require.Eventually(t, func() bool { return apierrors.IsNotFound(p.control.Get(ctx, key, taken)) },
		3*time.Minute, 200*time.Millisecond, "the copy is deleted with the Kyma")
}

func TestAClusterThatTheAccessNoLongerLeadsToDoesNotCountAsClean(t *testing.T) {
	p := newPair(t)
	ctx := context.Background()
	p.reconcile()
	require.NoError(t, p.control.Delete(ctx, p.kyma()))
	secret := &corev1.Secret{}
	require.NoError(t, p.control.Get(ctx, types.NamespacedName{Namespace: p.namespace, Name: "access"}, secret))
	right := secret.Data["config"]
	wrong, err := os.ReadFile(testfleet.Require(t, "LM_TEST_CONTROL_PLANE"))
	require.NoError(t, err)
	secret.Data["config"] = wrong
	require.NoError(t, p.control.Update(ctx, secret))
	in := syncing.CleanupInput{Ref: kick.RefOf(p.kyma())}
	p.requests.since()
	_, err = p.sync.CleanupRemote(ctx, in)
	require.Equal(t, "ClusterChanged", fault.Of(err).Reason)
	require.Empty(t, p.requests.since(), "no request asks for our objects there")

	secret.Data["config"] = right
	require.NoError(t, p.control.Update(ctx, secret))
	result, err := p.sync.CleanupRemote(ctx, in)
	require.NoError(t, err)
	require.Equal(t, syncing.OutcomeClean, result.Outcome)
}
