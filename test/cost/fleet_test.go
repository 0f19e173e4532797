package cost

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/deploy/crds"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts"
	"github.com/kyma-project/lifecycle-manager/test/harness/faultproxy"
	"github.com/kyma-project/lifecycle-manager/test/harness/fixture"
	"github.com/kyma-project/lifecycle-manager/test/harness/inprocess"
	"github.com/kyma-project/lifecycle-manager/test/harness/recorder"
	"github.com/kyma-project/lifecycle-manager/worker"
)

// instance is an instance of Lifecycle Manager, as the product assembles it, with one Kyma in a namespace of its
// own. All its requests but those of its caches go through the fault proxy. The test kicks in place of the watchers.
type instance struct {
	*testing.T
	*inprocess.Harness
	id       string
	proxy    *faultproxy.Proxy
	recorder *recorder.Recorder
	assembly *worker.Assembly
	cache    cache.Cache
}

const (
	module   = fixture.ModuleName
	kymaName = "kyma"
)

// newInstance starts an instance. The remote cluster knows nothing of us yet.
func newInstance(t *testing.T, withDefaultCR bool) *instance {
	t.Helper()
	i := &instance{T: t, Harness: inprocess.New(t, "cost"), id: fmt.Sprintf("c%016x", time.Now().UnixNano()), proxy: &faultproxy.Proxy{}}
	i.forget()
	i.recorder = i.Record(t, i.id)
	i.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: i.id}})
	t.Cleanup(i.cleanUp)
	i.cache = startCache(t, i.ControlConfig, i.Scheme, i.id)
	i.create(i.AccessSecret(i.id, kymaName))
	i.publish(withDefaultCR)
	i.assemble()
	i.Serve(t, i.id)
	workers := worker.New(i.Temporal, worker.Options{
		Activities: i.assembly.Activities, Slots: worker.Slots{Workflow: 10, ControlPlane: 10, Remote: 10, Background: 2, Sweep: 1}, StopTimeout: time.Second,
	})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- workers.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	return i
}

func (i *instance) create(object client.Object) {
	i.Helper()
	require.NoError(i, i.Control.Create(i.Context(), object))
}

// labels are those of what belongs to this instance.
func (i *instance) labels() map[string]string { return map[string]string{shared.LabelManagedBy: i.id} }

// forget deletes our definitions from the remote cluster, so that the next synchronization is the first.
func (i *instance) forget() {
	i.Helper()
	ctx := context.Background()
	all, err := crds.All()
	require.NoError(i, err)
	for _, definition := range all {
		require.NoError(i, client.IgnoreNotFound(i.Remote.Delete(ctx, definition)))
	}
	require.Eventually(i, func() bool {
		for _, definition := range all {
			if !apierrors.IsNotFound(i.Remote.Get(ctx, client.ObjectKeyFromObject(definition), definition)) {
				return false
			}
		}
		return true
	}, 3*time.Minute, 200*time.Millisecond)
}

// startCache starts a cache with the options and indexes that the product's has.
func startCache(t *testing.T, config *rest.Config, scheme *runtime.Scheme, managedBy string) cache.Cache {
	t.Helper()
	options, _, err := worker.CacheOptions(desired.Settings{ManagedBy: managedBy})
	require.NoError(t, err)
	options.Scheme = scheme
	made, err := cache.New(config, options)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	require.NoError(t, worker.Index(ctx, made))
	ended := make(chan error, 1)
	go func() { ended <- made.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	for _, object := range []client.Object{&v1beta2.Kyma{}, &v1beta2.Manifest{}, &v1beta2.ModuleTemplate{}, &v1beta2.ModuleReleaseMeta{}, fleet.SecretMetadata()} {
		_, err := made.GetInformer(ctx, object)
		require.NoError(t, err)
	}
	require.True(t, made.WaitForCacheSync(ctx))
	return made
}

// catalogObjects is the number of objects of the catalog: the release meta and the version that is in a channel.
const catalogObjects = 2

// publish adds the versions of the module to the catalog, the first of them in the channel.
func (i *instance) publish(withDefaultCR bool) {
	i.Helper()
	for _, version := range []fixture.Version{fixture.First(), fixture.Changed(), fixture.Exchanged()} {
		layer := i.Push(i, version.Layer(i.id))
		raw, err := json.Marshal(map[string]any{
			"meta": map[string]any{"schemaVersion": "v2"},
			"component": map[string]any{
				"name": fixture.Component, "version": version.Number, "provider": "kyma-project.io",
				"componentReferences": []any{}, "sources": []any{},
				"resources": []any{map[string]any{
					"name": "raw-manifest", "type": "raw-manifest", "relation": "local", "version": version.Number,
					"access": map[string]any{"type": "localBlob", "localReference": layer.Ref, "mediaType": "application/x-yaml"},
				}},
				"repositoryContexts": []any{map[string]any{"type": "OCIRegistry", "baseUrl": i.Registry(), "componentNameMapping": "urlPath"}},
			},
		})
		require.NoError(i, err)
		template := &v1beta2.ModuleTemplate{
			ObjectMeta: metav1.ObjectMeta{Name: module + "-" + version.Number, Namespace: i.id, Labels: i.labels()},
			Spec: v1beta2.ModuleTemplateSpec{
				ModuleName: module, Version: version.Number, Descriptor: &runtime.RawExtension{Raw: raw}, Manager: fixture.Module(i.id).Manager(),
			},
		}
		if withDefaultCR {
			template.Spec.Data = fixture.Module(i.id).DefaultCR()
		}
		i.create(template)
	}
	i.create(&v1beta2.ModuleReleaseMeta{
		ObjectMeta: metav1.ObjectMeta{Name: module, Namespace: i.id, Labels: i.labels()},
		Spec: v1beta2.ModuleReleaseMetaSpec{
			ModuleName: module, OCMComponentName: fixture.Component,
			Channels: []v1beta2.ChannelVersion{{Channel: "regular", Version: fixture.First().Number}},
		},
	})
}

// assemble makes the activities as the product does.
func (i *instance) assemble() {
	i.Helper()
	config := rest.CopyConfig(i.ControlConfig)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return i.proxy.Through(faultproxy.ToControlPlane, next)
	})
	clientset, err := kubernetes.NewForConfig(config)
	require.NoError(i, err)
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: clientset.CoreV1().Events("")})
	i.Cleanup(broadcaster.Shutdown)
	i.assembly, err = worker.Assemble(worker.Parts{
		ControlPlane: config, Scheme: i.Scheme, Cache: i.cache, Temporal: i.Temporal,
		Events:   broadcaster.NewRecorder(i.Scheme, corev1.EventSource{Component: "lifecycle-manager"}),
		Registry: prometheus.NewRegistry(), Version: "1.0.0",
		Config: worker.Config{
			Settings: desired.Settings{
				ManagedBy: i.id, Namespaces: []string{i.id}, SyncNamespace: fixture.Module(i.id).RemoteNamespace(),
				Purge: desired.PurgeSettings{Enabled: true, Grace: 24 * time.Hour, Orderly: time.Second},
			},
			ResyncInterval: time.Minute, SweepConcurrency: 8,
			Artifacts: artifacts.Options{PlainHTTPHosts: []string{i.Registry()}},
			WrapRemote: func(_ string, next http.RoundTripper) http.RoundTripper {
				return i.recorder.Through(i.proxy.Through(faultproxy.ToRemote, next))
			},
		},
	})
	require.NoError(i, err)
}

// kyma reads the Kyma in the control plane.
func (i *instance) kyma() *v1beta2.Kyma {
	i.Helper()
	kyma := &v1beta2.Kyma{}
	require.NoError(i, i.Control.Get(context.Background(), client.ObjectKey{Namespace: i.id, Name: kymaName}, kyma))
	return kyma
}

// manifest reads the one Manifest; nil when there is none.
func (i *instance) manifest() *v1beta2.Manifest {
	i.Helper()
	var list v1beta2.ManifestList
	require.NoError(i, i.Control.List(context.Background(), &list, client.InNamespace(i.id)))
	if len(list.Items) == 0 {
		return nil
	}
	return &list.Items[0]
}

// isReady reports whether the module is Ready in this version, and settled.
func (i *instance) isReady(version fixture.Version) bool {
	i.Helper()
	m := i.manifest()
	return m != nil && m.Status.Settled && m.Status.State == shared.StateReady && m.Status.InstalledVersion == version.Number &&
		m.Status.InputsDigest == manifests.InputsDigest(m) && i.kyma().Status.State == shared.StateReady
}

func (i *instance) kickKyma() {
	i.Helper()
	i.untilCached()
	kyma := i.kyma()
	require.NoError(i, i.assembly.Kicks.Kyma(i.Context(), kick.RefOf(kyma), kick.Kick{Reason: "Kyma changed", Urgent: true}))
}

// kickBy kicks the Kyma as the leader does when its turn comes after a change of the catalog.
func (i *instance) kickBy(released *v1beta2.ModuleReleaseMeta) {
	i.Helper()
	i.untilCached()
	require.NoError(i, i.assembly.Kicks.Kyma(i.Context(), kick.RefOf(i.kyma()), kick.Kick{
		Reason: "ModuleReleaseMeta changed", Kind: shared.KindModuleReleaseMeta,
		Namespace: released.Namespace, Name: released.Name, ResourceVersion: released.ResourceVersion,
	}))
}

// untilCached waits until the cache shows everything as it is.
func (i *instance) untilCached() {
	i.Helper()
	versions := func(from client.Reader) []string {
		var all []string
		for _, list := range []client.ObjectList{&v1beta2.KymaList{}, &v1beta2.ManifestList{}, &v1beta2.ModuleTemplateList{}, &v1beta2.ModuleReleaseMetaList{}} {
			require.NoError(i, from.List(context.Background(), list, client.InNamespace(i.id)))
			require.NoError(i, meta.EachListItem(list, func(item runtime.Object) error {
				object, err := meta.Accessor(item)
				if err == nil {
					all = append(all, object.GetResourceVersion())
				}
				return err
			}))
		}
		slices.Sort(all)
		return all
	}
	i.until("the cache has it", func() bool { return slices.Equal(versions(i.Control), versions(i.cache)) })
}

// until waits until something is so.
func (i *instance) until(what string, so func() bool) {
	i.Helper()
	require.Eventually(i, so, 3*time.Minute, 100*time.Millisecond, what)
}

// quiet waits until nobody makes requests any more, and returns those since the last time.
func (i *instance) quiet() []faultproxy.Request {
	i.Helper()
	before, since := -1, time.Now()
	i.until("it becomes quiet", func() bool {
		if now := len(i.proxy.Requests()); now != before {
			before, since = now, time.Now()
		}
		return time.Since(since) > 3*time.Second
	})
	return i.proxy.Take()
}

// sweep runs one pass over the Kyma's shard, as the SweepWorkflow does. It returns the number of kicks.
func (i *instance) sweep() int {
	i.Helper()
	i.untilCached()
	defer i.requireUnchanged()()
	return inprocess.WalkShard(i, i.assembly.Activities.Sweep, i.kyma().UID)
}

// requireUnchanged returns a function that fails the test where an object in the cache was changed since: a pass reads
// them without copies, and all of the process shares them.
func (i *instance) requireUnchanged() func() {
	i.Helper()
	cached := []client.ObjectList{&v1beta2.KymaList{}, &v1beta2.ManifestList{}, &v1beta2.ModuleTemplateList{}, &v1beta2.ModuleReleaseMetaList{}}
	var before []runtime.Object
	for _, list := range cached {
		require.NoError(i, i.cache.List(context.Background(), list, client.UnsafeDisableDeepCopy))
		before = append(before, list.DeepCopyObject())
	}
	return func() {
		i.Helper()
		for n, list := range cached {
			require.Equal(i, before[n], runtime.Object(list))
		}
	}
}

// cleanUp removes everything without the code under test.
func (i *instance) cleanUp() {
	ctx := context.Background()
	var all v1beta2.ManifestList
	require.NoError(i, i.Control.List(ctx, &all, client.InNamespace(i.id)))
	for n := range all.Items {
		all.Items[n].Finalizers = nil
		require.NoError(i, i.Control.Update(ctx, &all.Items[n]))
	}
	var kymas v1beta2.KymaList
	require.NoError(i, i.Control.List(ctx, &kymas, client.InNamespace(i.id)))
	for n := range kymas.Items {
		kymas.Items[n].Finalizers = nil
		require.NoError(i, i.Control.Update(ctx, &kymas.Items[n]))
	}
	require.NoError(i, client.IgnoreNotFound(i.Control.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: i.id}})))
	i.Clear(i, i.id)
	i.forget()
}
