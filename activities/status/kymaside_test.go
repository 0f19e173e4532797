package status_test

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
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/status"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/deploy/crds"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/test/testfleet"
)

// side is a separate instance without installers, on real API servers. Its activities run one after the other, as the
// workflow runs them.
type side struct {
	t         *testing.T
	namespace string
	instance  string
	control   client.Client
	catalog   client.Reader
	remote    client.Client
	requests  *requests
	inputs    desired.Inputs
	resolve   *resolve.Activities
	sync      *syncing.Activities
	status    *status.Activities
	kyma      types.NamespacedName
}

// requests records the requests to the remote cluster.
type requests struct {
	mu   sync.Mutex
	list []string
}

type counted struct {
	*requests
	next http.RoundTripper
}

func (c counted) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(r)
	if err == nil && response.StatusCode == http.StatusNotFound && strings.HasPrefix(response.Header.Get("Content-Type"), "text/plain") {
		// Requests for a kind that is not served yet are repeated until it is. How many depends on the API server, so
		// they do not count.
		return response, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, r.Method+" "+r.URL.Path)
	return response, err
}

func (r *requests) since() (all, writes []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, request := range r.list {
		all = append(all, request)
		if !strings.HasPrefix(request, http.MethodGet) {
			writes = append(writes, request)
		}
	}
	r.list = nil
	return all, writes
}

func newSide(t *testing.T) *side {
	t.Helper()
	controlPath, remotePath := testfleet.Require(t, "LM_TEST_CONTROL_PLANE"), testfleet.Require(t, "LM_TEST_REMOTE")
	config, err := clientcmd.BuildConfigFromFlags("", controlPath)
	require.NoError(t, err)
	config.QPS, config.Burst = 200, 200
	s := &side{t: t, requests: &requests{}}
	s.instance = fmt.Sprintf("kyma-side-%d", time.Now().UnixNano())
	s.namespace = s.instance
	s.control, err = client.New(config, client.Options{Scheme: desiredtest.Scheme()})
	require.NoError(t, err)
	installDefinitions(t, s.control)
	ctx := context.Background()
	require.NoError(t, s.control.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}))

	kubeconfig, err := os.ReadFile(remotePath)
	require.NoError(t, err)
	require.NoError(t, s.control.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "access", Namespace: s.namespace, Labels: map[string]string{shared.LabelKymaName: "kyma-sample"}},
		Data:       map[string][]byte{"config": kubeconfig},
	}))
	remoteConfig, err := clientcmd.BuildConfigFromFlags("", remotePath)
	require.NoError(t, err)
	s.remote, err = client.New(remoteConfig, client.Options{Scheme: desiredtest.Scheme()})
	require.NoError(t, err)

	clearRemote(t, s.remote)

	registry, err := clusters.New(clusters.Options{
		ControlPlane: config, Scheme: desiredtest.Scheme(),
		WrapTransport: func(_ string, next http.RoundTripper) http.RoundTripper { return counted{s.requests, next} },
	})
	require.NoError(t, err)
	catalog, err := cache.New(config, cache.Options{Scheme: desiredtest.Scheme()})
	require.NoError(t, err)
	require.NoError(t, desired.RegisterIndexes(ctx, catalog))
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- catalog.Start(running) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	for _, object := range []client.Object{&v1beta2.ModuleTemplate{}, &v1beta2.ModuleReleaseMeta{}} {
		_, err := catalog.GetInformer(ctx, object)
		require.NoError(t, err)
	}
	require.True(t, catalog.WaitForCacheSync(ctx))
	s.catalog = catalog

	settings := desired.Settings{ManagedBy: s.instance}
	options := resolve.Options{Settings: settings, ControlPlane: s.control, Catalog: catalog, Descriptors: nobody{}}
	s.resolve, err = resolve.New(options)
	require.NoError(t, err)
	planner, err := resolve.NewPlanner(options)
	require.NoError(t, err)
	definitions, err := crds.Get(crds.Kymas, crds.ModuleTemplates, crds.ModuleReleaseMetas)
	require.NoError(t, err)
	s.sync, err = syncing.New(syncing.Options{
		Settings: settings, ControlPlane: s.control, Catalog: catalog, Clusters: registry, Definitions: definitions, Version: "1.0.0",
	})
	require.NoError(t, err)
	s.status, err = status.New(status.Options{Settings: settings, ControlPlane: s.control, Planner: planner, Clusters: registry})
	require.NoError(t, err)
	s.inputs = desired.Inputs{Settings: settings, Index: desired.NewCached(catalog), Secrets: fleet.Live(catalog)}
	return s
}

type nobody struct{}

func (nobody) FetchDescriptor(context.Context, string, string, string) ([]byte, error) {
	return nil, fmt.Errorf("no registry")
}

// installDefinitions creates the CRDs in the control plane, unless another test has.
func installDefinitions(t *testing.T, c client.Client) {
	t.Helper()
	all, err := crds.All()
	require.NoError(t, err)
	for _, definition := range all {
		if err := c.Create(context.Background(), definition); err != nil {
			require.True(t, apierrors.IsAlreadyExists(err), err)
		}
	}
	require.Eventually(t, func() bool {
		return c.List(context.Background(), &v1beta2.KymaList{}) == nil && c.List(context.Background(), &v1beta2.ModuleTemplateList{}) == nil &&
			c.List(context.Background(), &v1beta2.ModuleReleaseMetaList{}) == nil && c.List(context.Background(), &v1beta2.ManifestList{}) == nil
	}, time.Minute, 100*time.Millisecond)
}

// clearRemote removes our CRDs, and with them all our objects, from the remote cluster, because an earlier test may have
// failed halfway.
func clearRemote(t *testing.T, c client.Client) {
	t.Helper()
	all, err := crds.Get(crds.Kymas, crds.ModuleTemplates, crds.ModuleReleaseMetas)
	require.NoError(t, err)
	for _, definition := range all {
		require.NoError(t, client.IgnoreNotFound(c.Delete(context.Background(), definition)))
	}
	require.Eventually(t, func() bool {
		for _, definition := range all {
			if !apierrors.IsNotFound(c.Get(context.Background(), client.ObjectKeyFromObject(definition), definition)) {
				return false
			}
		}
		return true
	}, 3*time.Minute, 100*time.Millisecond)
}

// offer creates an object of this instance in the control plane.
func (s *side) offer(object client.Object) {
	s.t.Helper()
	labels := map[string]string{shared.LabelManagedBy: s.instance}
	for key, value := range object.GetLabels() {
		labels[key] = value
	}
	object.SetLabels(labels)
	object.SetNamespace(s.namespace)
	object.SetUID("")
	require.NoError(s.t, s.control.Create(context.Background(), object))
	s.settle()
}

// settle waits until the cache shows the current templates and release metas.
func (s *side) settle() {
	s.t.Helper()
	versions := func(from client.Reader) []string {
		var all []string
		for _, list := range []client.ObjectList{&v1beta2.ModuleTemplateList{}, &v1beta2.ModuleReleaseMetaList{}} {
			require.NoError(s.t, from.List(context.Background(), list, client.InNamespace(s.namespace)))
			require.NoError(s.t, meta.EachListItem(list, func(item runtime.Object) error {
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
	require.Eventually(s.t, func() bool { return slices.Equal(versions(s.control), versions(s.catalog)) }, time.Minute, 10*time.Millisecond)
}

func (s *side) create(modules ...string) {
	s.t.Helper()
	kyma := desiredtest.Kyma(modules...)
	kyma.Generation = 0
	s.offer(kyma)
	s.kyma = client.ObjectKeyFromObject(kyma)
}

func (s *side) read() *v1beta2.Kyma {
	s.t.Helper()
	kyma := &v1beta2.Kyma{}
	require.NoError(s.t, s.control.Get(context.Background(), s.kyma, kyma))
	return kyma
}

func (s *side) remoteKyma() *v1beta2.Kyma {
	s.t.Helper()
	kyma := &v1beta2.Kyma{}
	require.NoError(s.t, s.remote.Get(context.Background(), types.NamespacedName{Namespace: "kyma-system", Name: "default"}, kyma))
	return kyma
}

func (s *side) editRemote(change func(*v1beta2.Kyma)) {
	s.t.Helper()
	kyma := s.remoteKyma()
	change(kyma)
	require.NoError(s.t, s.remote.Update(context.Background(), kyma))
}

// reconcile runs full reconciles, like the workflow, until the report finds nothing more to do.
func (s *side) reconcile() (syncing.Result, resolve.Result, status.ReportResult) {
	s.t.Helper()
	ctx, ref := context.Background(), kick.RefOf(s.read())
	synced, err := s.sync.SyncRemote(ctx, syncing.Input{Ref: ref})
	require.NoError(s.t, err)
	resolved, err := s.resolve.ResolveKyma(ctx, resolve.Input{Ref: ref})
	require.NoError(s.t, err)
	reported, err := s.status.ReportKyma(ctx, status.ReportInput{
		Ref: ref, InputsDigest: resolved.InputsDigest, Synced: true, Push: true, Faults: synced.Faults,
	})
	require.NoError(s.t, err)
	return synced, resolved, reported
}

func (s *side) manifests() []v1beta2.Manifest {
	s.t.Helper()
	list := v1beta2.ManifestList{}
	require.NoError(s.t, s.control.List(context.Background(), &list, client.InNamespace(s.namespace)))
	return list.Items
}

// ready sets the status that the installer would finally report on each Manifest.
func (s *side) ready() {
	s.t.Helper()
	for _, manifest := range s.manifests() {
		manifest.Status.State = shared.StateReady
		manifest.Status.ObservedGeneration = manifest.Generation
		require.NoError(s.t, s.control.Status().Update(context.Background(), &manifest))
	}
}

// release removes the finalizers of deleted Manifests, like the installer finally does.
func (s *side) release() {
	s.t.Helper()
	for _, manifest := range s.manifests() {
		if !manifest.DeletionTimestamp.IsZero() {
			manifest.Finalizers = nil
			require.NoError(s.t, s.control.Update(context.Background(), &manifest))
		}
	}
}

func (s *side) seen() bool {
	digest, err := s.inputs.Digest(context.Background(), s.read())
	require.NoError(s.t, err)
	return digest == s.read().Status.InputsDigest
}

func TestTheKymaSideOnRealClusters(t *testing.T) {
	s := newSide(t)
	ctx := context.Background()
	s.offer(desiredtest.ReleaseMeta("keda", "regular=1.0.0", "fast=2.0.0"))
	s.offer(desiredtest.Template("keda", "1.0.0"))
	s.offer(desiredtest.Template("keda", "2.0.0"))
	btp := desiredtest.ChannelTemplate("btp-operator", "regular", "1.0.0")
	s.offer(btp)
	s.create("keda")

	t.Run("the first reconcile writes everything, within its budget of requests", func(t *testing.T) {
		synced, resolved, reported := s.reconcile()
		all, _ := s.requests.since()
		t.Logf("%d requests: %v", len(all), all)
		require.True(t, synced.AcceptedChange)
		require.True(t, synced.Faults[fault.PartCatalog].IsZero(), synced.Faults[fault.PartCatalog].Message)
		require.Len(t, resolved.Created, 1)
		require.Equal(t, shared.StateProcessing, reported.State)
		require.False(t, reported.NeedsReconcile)
		require.Equal(t, shared.StateProcessing, s.remoteKyma().Status.State)
		// In addition to the 10: discovery of our group and of kinds that are not built in, two requests for the status,
		// and one for each of the four objects of the catalog.
		require.LessOrEqual(t, len(all), 10+4+2+4)
	})
	t.Run("a steady reconcile writes nothing anywhere", func(t *testing.T) {
		s.ready()
		_, _, reported := s.reconcile()
		require.Equal(t, shared.StateReady, reported.State)
		before := s.read().ResourceVersion
		s.requests.since()
		synced, resolved, _ := s.reconcile()
		all, writes := s.requests.since()
		t.Logf("%d requests: %v", len(all), all)
		require.Empty(t, writes)
		require.Zero(t, synced.Writes)
		require.Empty(t, append(append(resolved.Created, resolved.Updated...), resolved.Deleted...))
		require.Equal(t, before, s.read().ResourceVersion)
		require.LessOrEqual(t, len(all), 8)
		require.True(t, s.seen(), "the caches show the same inputs")
	})
	t.Run("the probe sees no difference, in three requests", func(t *testing.T) {
		s.requests.since()
		changed, why, err := s.sync.Probe(ctx, s.read(), false)
		require.NoError(t, err)
		require.False(t, changed, why)
		all, _ := s.requests.since()
		require.Len(t, all, 3)
	})
	t.Run("the remote owner enables a module and moves a channel", func(t *testing.T) {
		s.editRemote(func(k *v1beta2.Kyma) {
			k.Spec.Modules[0].Channel = "fast"
			k.Spec.Modules = append(k.Spec.Modules, v1beta2.Module{Name: "btp-operator"})
		})
		changed, why, err := s.sync.Probe(ctx, s.read(), false)
		require.NoError(t, err)
		require.True(t, changed)
		require.Equal(t, "remote Kyma was edited", why)
		_, resolved, _ := s.reconcile()
		require.Len(t, resolved.Created, 1)
		require.Len(t, resolved.Updated, 1)
		s.ready()
		_, _, reported := s.reconcile()
		require.Equal(t, shared.StateReady, reported.State)
		require.Equal(t, "2.0.0", s.remoteKyma().Status.Modules[1].Version)
	})
	t.Run("going back to the older version is refused with a warning in both clusters", func(t *testing.T) {
		s.editRemote(func(k *v1beta2.Kyma) { k.Spec.Modules[0].Channel = "regular" })
		_, resolved, reported := s.reconcile()
		require.Equal(t, 1, resolved.Refused)
		require.Empty(t, resolved.Updated)
		require.Equal(t, shared.StateWarning, reported.State)
		require.Contains(t, s.remoteKyma().Status.Modules[1].Message,
			"ignore channel skew (from fast to regular), as a higher version (2.0.0) of the module was previously installed")
		s.editRemote(func(k *v1beta2.Kyma) { k.Spec.Modules[0].Channel = "fast" })
		_, _, reported = s.reconcile()
		require.Equal(t, shared.StateReady, reported.State)
	})
	t.Run("edits in the remote catalog are reverted once", func(t *testing.T) {
		template := &v1beta2.ModuleTemplate{}
		key := types.NamespacedName{Namespace: "kyma-system", Name: "btp-operator-regular"}
		require.NoError(t, s.remote.Get(ctx, key, template))
		template.Spec.Channel = "fast"
		template.Spec.RequiresDowntime = true // a field that we do not set
		require.NoError(t, s.remote.Update(ctx, template, client.FieldOwner("kubectl-edit")))
		changed, why, err := s.sync.Probe(ctx, s.read(), false)
		require.NoError(t, err)
		require.True(t, changed)
		require.Equal(t, "remote catalog differs", why)
		s.reconcile()
		require.NoError(t, s.remote.Get(ctx, key, template))
		require.Equal(t, "regular", template.Spec.Channel)
		s.requests.since()
		s.reconcile()
		_, writes := s.requests.since()
		require.Empty(t, writes)
	})
	t.Run("a changed template changes one remote object and one Manifest", func(t *testing.T) {
		require.NoError(t, s.control.Get(ctx, client.ObjectKeyFromObject(btp), btp))
		btp.Spec.Descriptor = desiredtest.Descriptor(desiredtest.Component("btp-operator"), "1.1.0")
		require.NoError(t, s.control.Update(ctx, btp))
		ref := kick.RefOf(s.read())
		resolved, err := s.resolve.ResolveKyma(ctx, resolve.Input{Ref: ref, Seen: []desired.Seen{{
			Kind: "ModuleTemplate", Namespace: btp.Namespace, Name: btp.Name, ResourceVersion: btp.ResourceVersion,
		}}})
		require.NoError(t, err)
		require.Len(t, resolved.Updated, 1, "even if the cache has not seen the change")
		s.settle()
		require.False(t, s.seen())
		s.requests.since()
		s.reconcile()
		_, writes := s.requests.since()
		require.Len(t, writes, 2, "the template, and the status")
	})
	t.Run("finalizers exist from the start, survive an update, and are not added again", func(t *testing.T) {
		of := func(module string) *v1beta2.Manifest {
			manifests := s.manifests()
			at := slices.IndexFunc(manifests, func(m v1beta2.Manifest) bool { return m.ModuleName() == module })
			require.GreaterOrEqual(t, at, 0)
			return &manifests[at]
		}
		require.Equal(t, desired.ManifestFinalizers(), of("btp-operator").Finalizers, "the updated Manifest keeps its finalizers")
		keda := of("keda")
		keda.Finalizers = []string{"example.com/somebody", shared.FinalizerLabelRemoval}
		require.NoError(t, s.control.Update(ctx, keda, client.FieldOwner("somebody")))
		s.editRemote(func(k *v1beta2.Kyma) { k.Spec.Modules[0].CustomResourcePolicy = v1beta2.CustomResourcePolicyIgnore })
		_, resolved, _ := s.reconcile()
		require.Len(t, resolved.Updated, 1)
		require.Equal(t, []string{"example.com/somebody", shared.FinalizerLabelRemoval}, of("keda").Finalizers)

		edited := of("keda")
		edited.Spec.LocalizedImages = []string{"registry.example.com/keda:1.0.0"}
		edited.Spec.Manager = &v1beta2.Manager{GroupVersionKind: v1beta2.GroupVersionKind{Version: "v1", Kind: "Pod"}, Name: "keda"}
		require.NoError(t, s.control.Update(ctx, edited, client.FieldOwner("somebody")))
		_, resolved, _ = s.reconcile()
		require.Len(t, resolved.Updated, 1)
		require.Empty(t, of("keda").Spec.LocalizedImages, "additions of others to the spec are removed")
		require.Nil(t, of("keda").Spec.Manager)
		require.Equal(t, []string{"example.com/somebody", shared.FinalizerLabelRemoval}, of("keda").Finalizers)
		_, resolved, _ = s.reconcile()
		require.Empty(t, resolved.Updated)
	})
	t.Run("a deleted CRD deletes the remote Kyma, and both are restored", func(t *testing.T) {
		definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: crds.Kymas}}
		require.NoError(t, s.remote.Delete(ctx, definition))
		require.Eventually(t, func() bool {
			return apierrors.IsNotFound(s.remote.Get(ctx, client.ObjectKeyFromObject(definition), definition))
		}, 3*time.Minute, 100*time.Millisecond)
		changed, why, err := s.sync.Probe(ctx, s.read(), false)
		require.NoError(t, err)
		require.True(t, changed)
		require.Equal(t, "remote Kyma is gone", why)
		_, resolved, _ := s.reconcile()
		require.Empty(t, resolved.Deleted)
		copied := s.remoteKyma()
		require.Len(t, copied.Spec.Modules, 2, "with the last accepted state")
		require.NotEmpty(t, copied.Status.State)
	})
	t.Run("an edit of a CRD is reverted", func(t *testing.T) {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		key := types.NamespacedName{Name: crds.ModuleTemplates}
		require.NoError(t, s.remote.Get(ctx, key, definition))
		definition.Spec.Names.ShortNames = []string{"edited"}
		require.NoError(t, s.remote.Update(ctx, definition))
		synced, _, _ := s.reconcile()
		require.True(t, synced.Faults[fault.PartDefinitions].IsZero(), synced.Faults[fault.PartDefinitions].Message)
		require.NoError(t, s.remote.Get(ctx, key, definition))
		require.Equal(t, []string{"mt"}, definition.Spec.Names.ShortNames)
		s.requests.since()
		s.reconcile()
		_, writes := s.requests.since()
		require.Empty(t, writes)
	})
	t.Run("a module removed from the remote list is uninstalled", func(t *testing.T) {
		s.editRemote(func(k *v1beta2.Kyma) { k.Spec.Modules = k.Spec.Modules[:1] })
		_, resolved, _ := s.reconcile()
		require.Len(t, resolved.Deleted, 1)
		s.release()
		require.Len(t, s.manifests(), 1)
	})
	t.Run("a deletion leaves nothing of ours in the remote cluster", func(t *testing.T) {
		ref := kick.RefOf(s.read())
		require.NoError(t, s.control.Delete(ctx, s.read()))
		left, err := s.resolve.DeleteManifests(ctx, resolve.Input{Ref: ref})
		require.NoError(t, err)
		require.Len(t, left.Remaining, 1, "its finalizers hold it until its module is removed")
		s.release()
		left, err = s.resolve.DeleteManifests(ctx, resolve.Input{Ref: ref})
		require.NoError(t, err)
		require.Empty(t, left.Remaining)
		require.Empty(t, s.manifests())
		cleaned, err := s.sync.CleanupRemote(ctx, syncing.CleanupInput{Ref: ref})
		require.NoError(t, err)
		require.Equal(t, syncing.OutcomeClean, cleaned.Outcome)
		released, err := s.status.ReleaseKyma(ctx, status.ReleaseInput{Ref: ref})
		require.NoError(t, err)
		require.Equal(t, status.OutcomeReleased, released.Outcome)
		require.True(t, apierrors.IsNotFound(s.control.Get(ctx, s.kyma, &v1beta2.Kyma{})))
		require.Eventually(t, func() bool {
			var definitions apiextensionsv1.CustomResourceDefinitionList
			require.NoError(t, s.remote.List(ctx, &definitions, client.MatchingLabels{shared.LabelManagedBy: shared.ManagedByKyma}))
			// Modules that other tests install there at the same time have CRDs too.
			return !slices.ContainsFunc(definitions.Items, func(d apiextensionsv1.CustomResourceDefinition) bool {
				return d.Spec.Group == v1beta2.GroupVersion.Group
			})
		}, 3*time.Minute, 100*time.Millisecond)
		require.NoError(t, s.remote.Get(ctx, types.NamespacedName{Name: "kyma-system"}, &corev1.Namespace{}), "the namespace is never pruned")
	})
}
