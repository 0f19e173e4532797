package lifecycle

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ociregistry "github.com/google/go-containerregistry/pkg/registry"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crlog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/uninstall"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/deploy/crds"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/modules/apply"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts"
	"github.com/kyma-project/lifecycle-manager/test/harness/cluster"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
	"github.com/kyma-project/lifecycle-manager/worker"
)

// pollEvery is how often asynchronous changes are read.
const pollEvery = 250 * time.Millisecond

// environment is one Manifest on real clusters: a Kyma and its Manifest in a namespace of their own in the control
// plane, module objects under names of their own in the remote cluster.
type environment struct {
	*testing.T
	id         string
	activities *worker.ManifestActivities
	control    client.Client
	remote     client.Client
	requests   *requests
	registry   *httptest.Server
	// lost is true while the registry has nothing.
	lost *atomic.Bool
	// restart makes the activities again, as another process has them: with nothing in memory.
	restart  func()
	kicks    *kicks
	recorded *recordedEvents
	// stateRule is the instance's setting after the next restart.
	stateRule shared.StateRule
	// later is added to the time that the activities see.
	later    time.Duration
	manifest *v1beta2.Manifest
}

// requests are the requests to the remote cluster.
type requests struct {
	// base is the prefix of the paths in the cluster's address.
	base string
	mu   sync.Mutex
	all  []string
	// refuse, where set, answers a request with an error instead of sending it.
	refuse func(*http.Request) error
}

func (r *requests) wrap(_ string, next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		r.mu.Lock()
		refuse := r.refuse
		r.all = append(r.all, req.Method+" "+strings.TrimPrefix(req.URL.Path, r.base))
		r.mu.Unlock()
		if refuse != nil {
			if err := refuse(req); err != nil {
				return nil, err
			}
		}
		return next.RoundTrip(req)
	})
}

// intercept sets the function that may refuse requests.
func (r *requests) intercept(refuse func(*http.Request) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuse = refuse
}

// take returns the requests since the last call.
func (r *requests) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.all
	r.all = nil
	return all
}

func writes(requests []string) []string {
	var all []string
	for _, request := range requests {
		if !strings.HasPrefix(request, http.MethodGet) {
			all = append(all, request)
		}
	}
	return all
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// recordedEvents are the recorded Events, and the drift corrections that were counted.
type recordedEvents struct {
	mu        sync.Mutex
	all       []string
	corrected int
}

func (t *recordedEvents) Event(about runtime.Object, eventType, reason, message string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, fmt.Sprintf("%s %T %s: %s", eventType, about, reason, message))
}

func (t *recordedEvents) AnnotatedEventf(about runtime.Object, _ map[string]string, eventType, reason, format string, args ...any) {
	t.Event(about, eventType, reason, fmt.Sprintf(format, args...))
}

func (t *recordedEvents) DriftCorrected(objects int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.corrected += objects
}

// take returns the Events and the number of corrections since the last call.
func (t *recordedEvents) take() ([]string, int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all, corrected := t.all, t.corrected
	t.all, t.corrected = nil, 0
	return all, corrected
}

// kicks are what activities told the Kyma's workflow.
type kicks struct {
	mu  sync.Mutex
	all []kick.Kick
}

func (k *kicks) note(news manifests.News) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if news.Kick != nil {
		k.all = append(k.all, *news.Kick)
	}
}

func (k *kicks) take() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []string
	for _, sent := range k.all {
		all = append(all, sent.Reason)
	}
	k.all = nil
	return all
}

func TestMain(m *testing.M) {
	// These tests do not check the logs of controller-runtime, which complains without a logger.
	crlog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	require.NoError(t, clientscheme.AddToScheme(s))
	require.NoError(t, apiextensionsv1.AddToScheme(s))
	require.NoError(t, v1beta2.AddToScheme(s))
	return s
}

// newEnvironment returns an environment with a module of the given YAML, in which ID is replaced by a name that is
// unique to the environment.
func newEnvironment(t *testing.T, module string, change func(*v1beta2.Manifest)) *environment {
	t.Helper()
	return newEnvironmentIn(t, "LM_TEST_REMOTE", module, change)
}

// newSeparateEnvironment returns one for a test that brings our own definitions into the remote cluster, or a kind that
// the API server cannot list, so that no namespace can be deleted for a while: it uses a cluster that no other package's
// tests have.
func newSeparateEnvironment(t *testing.T, module string, change func(*v1beta2.Manifest)) *environment {
	t.Helper()
	return newEnvironmentIn(t, "FLEET_REMOTE_3_KUBECONFIG", module, change)
}

// newEnvironmentIn returns one with the remote cluster of the kubeconfig in the named variable.
func newEnvironmentIn(t *testing.T, remote, module string, change func(*v1beta2.Manifest)) *environment {
	t.Helper()
	controlPath, remotePath := testfleet.Require(t, "LM_TEST_CONTROL_PLANE"), testfleet.Require(t, remote)
	t.Parallel()
	s := &environment{T: t, id: fmt.Sprintf("i%x", time.Now().UnixNano()), lost: &atomic.Bool{}, requests: &requests{}, kicks: &kicks{}, recorded: &recordedEvents{}}
	config, err := clientcmd.BuildConfigFromFlags("", controlPath)
	require.NoError(t, err)
	config.QPS = -1
	direct, err := client.New(config, client.Options{Scheme: scheme(t)})
	require.NoError(t, err)
	s.control = cluster.Planning(direct)
	s.installDefinitions()
	remoteConfig, err := clientcmd.BuildConfigFromFlags("", remotePath)
	require.NoError(t, err)
	remoteConfig.QPS = -1
	address, err := url.Parse(remoteConfig.Host)
	require.NoError(t, err)
	s.requests.base = strings.TrimSuffix(address.Path, "/")
	s.remote, err = client.New(remoteConfig, client.Options{Scheme: scheme(t)})
	require.NoError(t, err)
	kubeconfig, err := os.ReadFile(remotePath)
	require.NoError(t, err)
	s.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.id}})
	s.create(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "access", Namespace: s.id, Labels: map[string]string{shared.LabelKymaName: "kyma"}},
		Data:       map[string][]byte{shared.AccessSecretKey: kubeconfig},
	})
	registry := ociregistry.New(ociregistry.Logger(log.New(io.Discard, "", 0)))
	s.registry = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if s.lost.Load() {
			http.NotFound(w, request)
			return
		}
		registry.ServeHTTP(w, request)
	}))
	t.Cleanup(s.registry.Close)

	access, err := clusters.New(clusters.Options{ControlPlane: config, Scheme: scheme(t), WrapTransport: s.requests.wrap})
	require.NoError(t, err)
	s.restart = func() {
		store, err := artifacts.New(artifacts.Options{PlainHTTPHosts: []string{s.host()}})
		require.NoError(t, err)
		s.activities, err = worker.AssembleManifests(worker.ManifestOptions{
			Steps: manifests.Options{
				ControlPlane: direct, Clusters: access, RemoteNamespace: s.id + "-remote",
				Events: s.recorded, Drift: s.recorded, Clock: func() time.Time { return time.Now().Add(s.later) }, Settings: desired.Settings{StateRule: s.stateRule},
			},
			Apply:   apply.Options{Artifacts: store},
			Install: install.Options{ReadyWithin: -1},
		})
		require.NoError(t, err)
	}
	s.restart()
	s.createManifest(module, change)
	t.Cleanup(s.cleanUp)
	return s
}

// cached is the Manifest as the caches hold it: without its large fields.
func (s *environment) cached() *v1beta2.Manifest {
	s.Helper()
	m := s.read()
	m.ManagedFields, m.Status.Inventory, m.Status.Synced, m.Spec.Resource = nil, nil, nil, nil
	return m
}

// probe says whether the sweep finds the module changed, and which requests to the cluster that took.
func (s *environment) probe() (changed bool, requests []string) {
	s.Helper()
	differs, requests := s.differs()
	return differs != "", requests
}

// differs says how the module differs for the sweep, "" if it does not, and the requests to the cluster.
func (s *environment) differs() (how string, requests []string) {
	s.Helper()
	s.requests.take()
	differing, err := s.activities.Drift.Probe(context.Background(), []*v1beta2.Manifest{s.cached()}, 0)
	require.NoError(s, err)
	for _, d := range differing {
		how = d.Reason
	}
	return how, s.requests.take()
}

// cleanUp removes everything that could block other tests on the same clusters. Namespaces stay: the
// deletion of one takes more than a hundred requests, which was a third of all that these tests cost the API server.
func (s *environment) cleanUp() {
	ctx := context.Background()
	m := &v1beta2.Manifest{}
	if err := s.control.Get(ctx, client.ObjectKeyFromObject(s.manifest), m); err == nil {
		m.Finalizers = nil
		_ = s.control.Update(ctx, m)
		_ = s.control.Delete(ctx, m)
	}
	// What a test that failed holds would keep the definition of its kind, which other tests then find.
	held := &unstructured.UnstructuredList{}
	held.SetGroupVersionKind(s.sample("").GroupVersionKind())
	_ = s.remote.List(ctx, held, client.InNamespace(s.id+"-remote"))
	for i := range held.Items {
		_ = s.remote.Patch(ctx, &held.Items[i], client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
	}
	_ = s.remote.Delete(ctx, &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "samples." + s.id + ".example.com"}})
}

func (s *environment) host() string { return strings.TrimPrefix(s.registry.URL, "http://") }

func (s *environment) installDefinitions() { s.installDefinitionsIn(s.control) }

func (s *environment) installDefinitionsIn(c client.Client) {
	s.Helper()
	definitions, err := crds.Get(crds.Kymas, crds.Manifests)
	require.NoError(s, err)
	for _, definition := range definitions {
		definition.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
		require.NoError(s, c.Patch(context.Background(), definition, client.Apply, client.FieldOwner("test"), client.ForceOwnership)) //nolint:staticcheck // a typed object
	}
	require.Eventually(s, func() bool {
		return c.List(context.Background(), &v1beta2.ManifestList{}, client.Limit(1)) == nil &&
			c.List(context.Background(), &v1beta2.KymaList{}, client.Limit(1)) == nil
	}, time.Minute, 100*time.Millisecond)
}

func (s *environment) create(object client.Object) {
	s.Helper()
	require.NoError(s, s.control.Create(context.Background(), object))
}

// layer pushes a layer of YAML, in which ID is replaced by a name that is unique to the environment.
func (s *environment) layer(module string) v1beta2.ImageSpec {
	s.Helper()
	return s.blob([]byte(strings.ReplaceAll(module, "ID", s.id)))
}

func (s *environment) blob(content []byte) v1beta2.ImageSpec {
	s.Helper()
	sum := sha256.Sum256(content)
	digest := "sha256:" + hex.EncodeToString(sum[:])
	response, err := http.Post(s.registry.URL+"/v2/component-descriptors/example.com/sample/blobs/uploads/?digest="+digest, "application/octet-stream", bytes.NewReader(content))
	require.NoError(s, err)
	require.NoError(s, response.Body.Close())
	require.Equal(s, http.StatusCreated, response.StatusCode)
	return v1beta2.ImageSpec{Repo: s.host() + "/component-descriptors", Name: "example.com/sample", Ref: digest, Type: v1beta2.ImageSourceOCIRef}
}

func (s *environment) createManifest(module string, change func(*v1beta2.Manifest)) {
	s.Helper()
	kyma := &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Namespace: s.id, Name: "kyma"}}
	s.create(kyma)
	m := &v1beta2.Manifest{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.id, Name: s.id + "-sample",
			Labels:          map[string]string{shared.LabelKymaName: "kyma", shared.LabelModuleName: "sample"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(kyma, v1beta2.GroupVersion.WithKind(shared.KindKyma))},
		},
		Spec: v1beta2.ManifestSpec{Remote: true, Version: "1.0.0", Install: v1beta2.InstallInfo{Name: "raw-manifest", Source: s.layer(module)}},
	}
	if change != nil {
		change(m)
	}
	s.create(m)
	s.manifest = m
}

// read reads the Manifest as it is now.
func (s *environment) read() *v1beta2.Manifest {
	s.Helper()
	m := &v1beta2.Manifest{}
	require.NoError(s, s.control.Get(context.Background(), client.ObjectKeyFromObject(s.manifest), m))
	return m
}

func (s *environment) update(change func(*v1beta2.Manifest)) {
	s.Helper()
	m := s.read()
	change(m)
	require.NoError(s, s.control.Update(context.Background(), m))
}

func (s *environment) ref() kick.Ref { return kick.RefOf(s.manifest) }

func (s *environment) apply() install.ApplyResult {
	s.Helper()
	result, err := s.activities.Install.ApplyManifest(context.Background(), install.ApplyInput{Ref: kick.RefOf(s.manifest)})
	require.NoError(s, err)
	s.kicks.note(result.News)
	return result
}

// wait reads until the state differs from what was reported.
func (s *environment) wait(reported readiness.Observed) readiness.Observed {
	s.Helper()
	var seen readiness.Observed
	require.Eventually(s, func() bool {
		var err error
		seen, err = s.news(reported)
		if err != nil {
			require.Equal(s, fault.Pending, fault.Of(err).Kind, err.Error())
		}
		return err == nil
	}, 2*time.Minute, 100*time.Millisecond, "still %s: %s", reported.Reason, reported.Message)
	return seen
}

// news reads the module once. It fails with a benign error if the state does not differ from what was reported.
func (s *environment) news(reported readiness.Observed) (readiness.Observed, error) {
	s.Helper()
	news, err := s.activities.Install.FollowModules(context.Background(), install.FollowInput{Modules: []install.Followed{{Ref: s.ref(), Reported: reported}}})
	if err != nil {
		return readiness.Observed{}, err
	}
	require.Len(s, news, 1)
	if f := news[0].Fault; !f.IsZero() {
		return readiness.Observed{}, &fault.Error{Kind: f.Kind, Reason: f.Reason, Message: f.Message}
	}
	return news[0].Observed, nil
}

// install applies and follows the module until its resources are ready, and creates the default CR if wanted.
func (s *environment) install() readiness.Observed {
	s.Helper()
	result := s.apply()
	require.Equal(s, manifests.OutcomeApplied, result.Outcome, result.Observed.Message)
	return s.follow(result.Observed)
}

// settle returns the state of the module after a reconcile: as the reconcile itself, or else a wait, has read it.
func (s *environment) settle(result install.ApplyResult) readiness.Observed {
	s.Helper()
	if result.Judged {
		return result.Observed
	}
	return s.wait(result.Observed)
}

func (s *environment) follow(seen readiness.Observed) readiness.Observed {
	s.Helper()
	for seen = s.wait(seen); seen.Reason == readiness.ReasonResourcesPending; {
		seen = s.wait(seen)
	}
	if !seen.DefaultCRWanted {
		return seen
	}
	made, err := s.activities.Install.EnsureDefaultCR(context.Background(), install.WaitInput{Ref: kick.RefOf(s.manifest), Reported: seen})
	require.NoError(s, err)
	s.kicks.note(made.News)
	return made.Observed
}

func (s *environment) report(observed readiness.Observed, settled bool) manifests.ReportResult {
	s.Helper()
	result, err := s.activities.Install.ReportManifest(context.Background(), manifests.ReportInput{
		Ref: kick.RefOf(s.manifest), Observed: observed, InputsDigest: manifests.InputsDigest(s.read()), Settled: settled,
	})
	require.NoError(s, err)
	s.kicks.note(result.News)
	return result
}

// installReady installs the module, sets its custom resource to Ready, and reports it.
func (s *environment) installReady() {
	s.Helper()
	seen := s.install()
	if seen.Reason == readiness.ReasonModuleCRPending {
		s.setState("default", "Ready")
	}
	seen = s.ready(seen)
	s.report(seen, true)
	s.requests.take()
	s.kicks.take()
}

// ready follows a module until it is ready. On a busy machine the simulated node may be late with its
// heartbeat, and pods that were ready are not for a while.
func (s *environment) ready(seen readiness.Observed) readiness.Observed {
	s.Helper()
	for seen.State != shared.StateReady {
		require.Equal(s, shared.StateProcessing, seen.State, seen.Message)
		seen = s.wait(seen)
	}
	return seen
}

func (s *environment) remove(reported readiness.Observed) uninstall.RemoveResult {
	s.Helper()
	result, err := s.activities.Uninstall.RemoveManifest(context.Background(), uninstall.RemoveInput{Ref: kick.RefOf(s.manifest), Reported: reported})
	require.NoError(s, err)
	s.kicks.note(result.News)
	return result
}

func (s *environment) delete() {
	s.Helper()
	require.NoError(s, s.control.Delete(context.Background(), s.read()))
}

// get reads an object of the remote cluster; nil when it does not exist. Group and version as in apiVersion.
func (s *environment) get(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	s.Helper()
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(strings.ReplaceAll(apiVersion, "ID", s.id))
	u.SetKind(kind)
	err := s.remote.Get(context.Background(), types.NamespacedName{Namespace: strings.ReplaceAll(namespace, "ID", s.id), Name: strings.ReplaceAll(name, "ID", s.id)}, u)
	if apierrors.IsNotFound(err) || isNoMatch(err) {
		return nil
	}
	require.NoError(s, err)
	return u
}

func isNoMatch(err error) bool {
	return err != nil && strings.Contains(err.Error(), "no matches for kind")
}

// sample is the address of a custom resource of the module.
func (s *environment) sample(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: s.id + ".example.com", Version: "v1", Kind: "Sample"})
	u.SetNamespace(s.id + "-remote")
	u.SetName(name)
	return u
}

func (s *environment) setState(name, state string) {
	s.Helper()
	u := s.sample(name)
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"state":"`+state+`"}}`))
	require.NoError(s, s.remote.Status().Patch(context.Background(), u, patch))
}

func (s *environment) condition(kind shared.ConditionType) metav1.ConditionStatus {
	s.Helper()
	for _, c := range s.read().Status.Conditions {
		if c.Type == string(kind) {
			return c.Status
		}
	}
	return ""
}

// defaultCR gives the Manifest a default custom resource.
func (s *environment) defaultCR() *runtime.RawExtension { return rawSample(s.id) }

func rawSample(id string) *runtime.RawExtension {
	raw, _ := json.Marshal(map[string]any{
		"apiVersion": id + ".example.com/v1", "kind": "Sample",
		"metadata": map[string]any{"name": "default", "namespace": id + "-remote"},
		"spec":     map[string]any{"greeting": "hello"}, "status": map[string]any{"state": "Ready"},
	})
	return &runtime.RawExtension{Raw: raw}
}

func withDefaultCR(m *v1beta2.Manifest) { m.Spec.Resource = rawSample(m.Namespace) }
