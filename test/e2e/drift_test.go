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

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/process"
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

// Drift of a module's objects is corrected within a few passes of the sweep, recorded in Events and counted. A manager
// that keeps changing a field is named, and the field is ignored.
func TestDriftIsCorrectedRecordedAndCountedAndAFieldOwnershipConflictIsReported(t *testing.T) {
	metrics := process.FreeAddress(t)
	s := harness.NewEnvironment(t, "--metrics-bind-address", metrics)
	s.SweepOften() // drift is found by passes
	s.PushModule(harness.MinimalModule{Name: steadfast, Channels: "regular", Manifest: steadfastManifest})
	s.Instance.Start()
	s.Create(harness.NewKyma("drifting", steadfast))
	s.BecomesReady("drifting", steadfast+"@1.0.0")
	manifest := s.Manifests(s.Kyma("drifting"))[0]
	s.Eventually("the Manifest settles", 2*time.Minute, func(c *assert.CollectT) {
		assert.True(c, s.Manifests(s.Kyma("drifting"))[0].Status.Settled)
	})
	at := metav1.ObjectMeta{Namespace: harness.RemoteNamespace, Name: steadfast}
	config, account, workload := &corev1.ConfigMap{ObjectMeta: at}, &corev1.ServiceAccount{ObjectMeta: at}, &appsv1.Deployment{ObjectMeta: at}
	key := client.ObjectKeyFromObject(config)

	t.Run("an edit of an object without health is corrected while the module stays Ready", func(t *testing.T) {
		states := watchStates(t, s)
		mergePatch(t, s, config, `{"data":{"greeting":"goodbye"}}`)
		s.Eventually("it is corrected", 2*time.Minute, func(c *assert.CollectT) {
			require.NoError(c, s.Remote.Get(t.Context(), key, config))
			assert.Equal(c, "hello", config.Data["greeting"])
			assert.Contains(c, correctionEvents(s, &manifest), "ConfigMap kyma-system/steadfast (.data.greeting by editor)")
			assert.Equal(c, "1", process.Metric(t, metrics, corrections))
		})
		s.BecomesIdle(s.Kyma("drifting")) // what the repair led to is written
		require.Equal(t, map[string][]string{"Manifest": {"Ready"}, "Kyma": {"Ready"}, "module": {"Ready"}}, states())
	})
	t.Run("objects deleted, edited and relabelled at the same time are corrected", func(t *testing.T) {
		require.NoError(t, s.Remote.Delete(t.Context(), account))
		mergePatch(t, s, workload, `{"spec":{"template":{"spec":{"containers":[{"name":"steadfast","image":"example.com/other:1.0.0"}]}}}}`)
		mergePatch(t, s, config, `{"metadata":{"labels":{"`+shared.LabelManagedBy+`":"somebody"}}}`)
		s.Eventually("all three are corrected", 2*time.Minute, func(c *assert.CollectT) {
			require.NoError(c, s.Remote.Get(t.Context(), key, account))
			require.NoError(c, s.Remote.Get(t.Context(), key, workload))
			require.NoError(c, s.Remote.Get(t.Context(), key, config))
			assert.Equal(c, steadfastImage, workload.Spec.Template.Spec.Containers[0].Image)
			assert.Equal(c, shared.ManagedByKyma, config.Labels[shared.LabelManagedBy])
			recorded := correctionEvents(s, &manifest)
			assert.Contains(c, recorded, "ServiceAccount kyma-system/steadfast (had been deleted)")
			assert.Contains(c, recorded, "Deployment kyma-system/steadfast (.spec.template.spec.containers")
			assert.Contains(c, recorded, "ConfigMap kyma-system/steadfast (had lost our labels)")
			assert.Equal(c, "4", process.Metric(t, metrics, corrections))
		})
		s.BecomesReady("drifting", steadfast+"@1.0.0")
	})
	t.Run("a manager that takes a field again each time is named in a Warning, and the field is ignored", func(t *testing.T) {
		const said = "rival keeps changing .data.greeting of ConfigMap kyma-system/steadfast"
		s.Eventually("the conflict is reported", 2*time.Minute, func(c *assert.CollectT) {
			takeGreeting(t, s, "rival", "mine")
			found := s.Module("drifting", steadfast)
			assert.Equal(c, shared.StateWarning, found.State, found.Message)
			assert.Contains(c, found.Message, said)
			assert.Contains(c, fmt.Sprint(s.Warnings(&manifest)[manifests.EventFieldConflict]), said)
		})
		takeGreeting(t, s, "rival", "mine")
		corrected := process.Metric(t, metrics, corrections)
		s.Sweeps(t, 1) // it is compared, and not corrected
		require.NoError(t, s.Remote.Get(t.Context(), key, config))
		require.Equal(t, "mine", config.Data["greeting"])
		require.Equal(t, corrected, process.Metric(t, metrics, corrections))
	})
}

// mergePatch changes an object in the remote cluster, as the field manager of an editor.
func mergePatch(t *testing.T, s *harness.Environment, object client.Object, patch string) {
	t.Helper()
	require.NoError(t, s.Remote.Patch(t.Context(), object, client.RawPatch("application/strategic-merge-patch+json", []byte(patch)), client.FieldOwner("editor")))
}

// takeGreeting has a field manager force its greeting into the module's ConfigMap.
func takeGreeting(t *testing.T, s *harness.Environment, manager, greeting string) {
	t.Helper()
	wanted := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"namespace": harness.RemoteNamespace, "name": steadfast},
		"data":     map[string]any{"greeting": greeting},
	}}
	require.NoError(t, s.Remote.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(wanted), client.FieldOwner(manager), client.ForceOwnership))
}

// correctionEvents are the Events on a Manifest about drift corrections, one in a line.
func correctionEvents(s *harness.Environment, manifest *v1beta2.Manifest) string {
	s.T.Helper()
	var events corev1.EventList
	require.NoError(s.T, s.ControlPlane.List(s.T.Context(), &events, client.InNamespace(manifest.Namespace)))
	var messages []string
	for _, event := range events.Items {
		if event.InvolvedObject.UID == manifest.UID && event.Reason == manifests.EventDriftCorrected {
			messages = append(messages, event.Message)
		}
	}
	return strings.Join(messages, "\n")
}

// watchStates collects every state that the only Kyma, its modules and its Manifest are written with, from those that
// they have, until what it returns is called, which returns them.
func watchStates(t *testing.T, s *harness.Environment) func() map[string][]string {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", s.ControlPlane.Kubeconfig)
	require.NoError(t, err)
	watching, err := client.NewWithWatch(config, client.Options{Scheme: s.ControlPlane.Scheme()})
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
		watched, err := watching.Watch(bounded, list, client.InNamespace(harness.ControlPlaneNamespace))
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
