package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

const (
	steadfast = "steadfast"
	// steadfastImage is never pulled: no container runs in the fleet.
	steadfastImage    = "example.com/steadfast:1.0.0"
	steadfastManifest = `
apiVersion: v1
kind: ConfigMap
metadata: {name: steadfast}
data: {greeting: hello}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: steadfast}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: steadfast}
spec:
  selector: {matchLabels: {app: steadfast}}
  template:
    metadata: {labels: {app: steadfast}}
    spec:
      containers: [{name: steadfast, image: "` + steadfastImage + `"}]
`
	corrections = "lifecycle_mgr_drift_corrections_total"
)

// What others do to a module's objects is put right within a few passes of the sweep, told and counted; and who
// does not stop is left alone and named.
func TestDriftIsPutRightToldAndCountedAndAFightIsGivenUp(t *testing.T) {
	metrics := freeAddress(t)
	s := newStage(t, "--metrics-bind-address", metrics)
	s.pushOne(tiny{name: steadfast, channels: "regular", manifest: steadfastManifest})
	s.instance.start()
	s.create(newKyma("drifting", steadfast))
	s.becomesReady("drifting", steadfast+"@1.0.0")
	manifest := s.manifests(s.kyma("drifting"))[0]
	s.eventually("the Manifest settles", 2*time.Minute, func(c *assert.CollectT) {
		assert.True(c, s.manifests(s.kyma("drifting"))[0].Status.Settled)
	})
	at := metav1.ObjectMeta{Namespace: remoteNamespace, Name: steadfast}
	config, account, workload := &corev1.ConfigMap{ObjectMeta: at}, &corev1.ServiceAccount{ObjectMeta: at}, &appsv1.Deployment{ObjectMeta: at}
	key := client.ObjectKeyFromObject(config)

	t.Run("an edit of what has no health is put right without the module leaving Ready", func(t *testing.T) {
		states := s.watchStates(t)
		s.merge(t, config, `{"data":{"greeting":"goodbye"}}`)
		s.eventually("it is put right", 2*time.Minute, func(c *assert.CollectT) {
			require.NoError(c, s.remote.Get(t.Context(), key, config))
			assert.Equal(c, "hello", config.Data["greeting"])
			assert.Contains(c, s.putRight(&manifest), "ConfigMap kyma-system/steadfast (.data.greeting by editor)")
			assert.Equal(c, "1", s.metric(t, metrics, corrections))
		})
		s.becomesIdle(s.kyma("drifting")) // what the repair led to is written
		require.Equal(t, map[string][]string{"Manifest": {"Ready"}, "Kyma": {"Ready"}, "module": {"Ready"}}, states())
	})
	t.Run("what is deleted, edited and relabelled at once is put right", func(t *testing.T) {
		require.NoError(t, s.remote.Delete(t.Context(), account))
		s.merge(t, workload, `{"spec":{"template":{"spec":{"containers":[{"name":"steadfast","image":"example.com/other:1.0.0"}]}}}}`)
		s.merge(t, config, `{"metadata":{"labels":{"`+shared.LabelManagedBy+`":"somebody"}}}`)
		s.eventually("all three are put right", 2*time.Minute, func(c *assert.CollectT) {
			require.NoError(c, s.remote.Get(t.Context(), key, account))
			require.NoError(c, s.remote.Get(t.Context(), key, workload))
			require.NoError(c, s.remote.Get(t.Context(), key, config))
			assert.Equal(c, steadfastImage, workload.Spec.Template.Spec.Containers[0].Image)
			assert.Equal(c, shared.ManagedByKyma, config.Labels[shared.LabelManagedBy])
			told := s.putRight(&manifest)
			assert.Contains(c, told, "ServiceAccount kyma-system/steadfast (had been deleted)")
			assert.Contains(c, told, "Deployment kyma-system/steadfast (.spec.template.spec.containers")
			assert.Contains(c, told, "ConfigMap kyma-system/steadfast (had lost our labels)")
			assert.Equal(c, "4", s.metric(t, metrics, corrections))
		})
		s.becomesReady("drifting", steadfast+"@1.0.0")
	})
	t.Run("a manager that takes a field again each time is named in a Warning and left alone", func(t *testing.T) {
		const said = "rival keeps changing .data.greeting of ConfigMap kyma-system/steadfast"
		s.eventually("the fight is given up", 2*time.Minute, func(c *assert.CollectT) {
			s.take(t, "rival", "mine")
			found := s.module("drifting", steadfast)
			assert.Equal(c, shared.StateWarning, found.State, found.Message)
			assert.Contains(c, found.Message, said)
			assert.Contains(c, fmt.Sprint(s.warnings(&manifest)[install.EventDriftDisputed]), said)
		})
		s.take(t, "rival", "mine")
		corrected := s.metric(t, metrics, corrections)
		s.sweeps(t, 1) // it is looked at, and left alone
		require.NoError(t, s.remote.Get(t.Context(), key, config))
		require.Equal(t, "mine", config.Data["greeting"])
		require.Equal(t, corrected, s.metric(t, metrics, corrections))
	})
}

// merge changes an object in the remote cluster as somebody does who edits it.
func (s *stage) merge(t *testing.T, object client.Object, patch string) {
	t.Helper()
	require.NoError(t, s.remote.Patch(t.Context(), object, client.RawPatch("application/strategic-merge-patch+json", []byte(patch)), client.FieldOwner("editor")))
}

// take has a field manager force its greeting into the module's ConfigMap.
func (s *stage) take(t *testing.T, manager, greeting string) {
	t.Helper()
	wanted := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"namespace": remoteNamespace, "name": steadfast},
		"data":     map[string]any{"greeting": greeting},
	}}
	require.NoError(t, s.remote.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(wanted), client.FieldOwner(manager), client.ForceOwnership))
}

// putRight are the Events on a Manifest that tell what was put right, one in a line.
func (s *stage) putRight(manifest *v1beta2.Manifest) string {
	s.t.Helper()
	var events corev1.EventList
	require.NoError(s.t, s.controlPlane.List(ctx(s.t), &events, client.InNamespace(manifest.Namespace)))
	var told []string
	for _, event := range events.Items {
		if event.InvolvedObject.UID == manifest.UID && event.Reason == install.EventDriftCorrected {
			told = append(told, event.Message)
		}
	}
	return strings.Join(told, "\n")
}

// watchStates collects every state that the only Kyma, its modules and its Manifest are written with, from those that
// they have, until what it returns is called, which returns them.
func (s *stage) watchStates(t *testing.T) func() map[string][]string {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", s.controlPlane.kubeconfig)
	require.NoError(t, err)
	watching, err := client.NewWithWatch(config, client.Options{Scheme: s.controlPlane.Scheme()})
	require.NoError(t, err)
	bounded, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	var wait sync.WaitGroup
	var mu sync.Mutex
	seen := map[string]sets.Set[string]{"Kyma": sets.New[string](), "module": sets.New[string](), "Manifest": sets.New[string]()}
	note := func(what string, state shared.State) {
		mu.Lock()
		defer mu.Unlock()
		seen[what].Insert(string(state))
	}
	for _, list := range []client.ObjectList{&v1beta2.KymaList{}, &v1beta2.ManifestList{}} {
		watched, err := watching.Watch(bounded, list, client.InNamespace(controlPlaneNamespace))
		require.NoError(t, err)
		wait.Go(func() {
			defer watched.Stop()
			for event := range watched.ResultChan() {
				switch object := event.Object.(type) {
				case *v1beta2.Kyma:
					note("Kyma", object.Status.State)
					for _, module := range object.Status.Modules {
						note("module", module.State)
					}
				case *v1beta2.Manifest:
					note("Manifest", object.Status.State)
				}
			}
		})
	}
	return func() map[string][]string {
		cancel()
		wait.Wait()
		all := map[string][]string{}
		for what, states := range seen {
			all[what] = sets.List(states)
		}
		return all
	}
}
