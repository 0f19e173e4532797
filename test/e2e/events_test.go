package e2e

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/agent"
	"github.com/kyma-project/lifecycle-manager/test/harness/process"
	"github.com/kyma-project/lifecycle-manager/test/harness/prometheus"
	"github.com/kyma-project/lifecycle-manager/watchers/listener"
)

const (
	// istioNamespace has the certificates of agents and listener.
	istioNamespace = "istio-system"
	runtimeID      = "runtime-of-watched"
	// soon bounds the waits for what an event causes. That an event caused it is what counts (causedByAnEvent), not how long it took.
	soon = 30 * time.Second
)

// watched is a Kyma with an agent in its cluster. There is one shard, which the sweep walks at the start and then an hour later.
type watched struct {
	*harness.Environment
	workers *harness.Instance
	agent   *agent.Agent
	// listener and metrics are addresses of the instance.
	listener, metrics string
}

// newWatched starts an instance that takes events itself, with a Watcher on remote Kymas and one on the states of samples, and
// a Kyma whose agent is ready. Watchers and workers are processes of their own, so that it shows which of them needs a right.
func newWatched(t testing.TB, flags ...string) *watched {
	t.Helper()
	return newWatchedAfter(t, func(*watched) {}, flags...)
}

// newWatchedAfter is newWatched in clusters that somebody else prepares before the instance starts.
func newWatchedAfter(t testing.TB, prepare func(*watched), flags ...string) *watched {
	t.Helper()
	address, metrics := process.FreeAddress(t), process.FreeAddress(t)
	flags = append([]string{
		"--watcher-routing", "direct", "--watcher-listener-address", address, "--kyma-skr-listener-bind-address", address,
		"--self-signed-cert-key-size", "2048", "--resync-interval", "1h", "--sweep-shards", "1",
	}, flags...)
	s := harness.NewEnvironment(t, append([]string{"--role", "watchers", "--metrics-bind-address", metrics}, flags...)...)
	s.SweepNever()
	workers := s.NewInstance(append([]string{"--role", "workers"}, flags...)...)
	t.Cleanup(func() {
		s.DeleteEverything() // which needs workers
		workers.Stop()
	})
	s.EnsureNamespace(s.ControlPlane, istioNamespace)
	w := &watched{Environment: s, workers: workers, listener: address, metrics: metrics}
	t.Cleanup(w.removeWhatIsShared)
	w.watch("kymas", v1beta2.WatchedFieldSpec, v1beta2.WatchableGVR{Group: shared.OperatorGroup, Version: "*", Resource: "kymas"})
	w.watch("samples", v1beta2.WatchedFieldStatus, v1beta2.WatchableGVR{Group: harness.SampleGVK.Group, Version: "*", Resource: "samples"})
	s.Push("test/modules/sample/1.0.0")
	prepare(w)
	s.Instance.Launch()
	workers.Start()
	w.agent = agent.Follow(t, s.Remote)
	kyma := harness.NewKyma("watched")
	kyma.Labels = map[string]string{shared.LabelRuntimeID: runtimeID}
	s.Create(kyma)
	w.agentBecomes(metav1.ConditionTrue)
	s.BecomesReady("watched")
	return w
}

func (w *watched) watch(name string, field v1beta2.WatchedField, resource v1beta2.WatchableGVR) *v1beta2.Watcher {
	w.T.Helper()
	watcher := &v1beta2.Watcher{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: harness.ControlPlaneNamespace},
		Spec: v1beta2.WatcherSpec{
			ServiceInfo: v1beta2.ServiceInfo{Name: "listener", Namespace: harness.ControlPlaneNamespace, Port: 8082},
			Manager:     "lifecycle-manager", Field: field, ResourceToWatch: resource,
			LabelsToWatch: map[string]string{shared.LabelWatchedBy: shared.WatchedByKyma},
		},
	}
	require.NoError(w.T, w.ControlPlane.Create(w.T.Context(), watcher))
	return watcher
}

// removeWhatIsShared removes what the next test of the fleet would find: Watchers, while the instance takes its finalizer off
// them, and certificates.
func (w *watched) removeWhatIsShared() {
	ctx := context.Background()
	_ = w.ControlPlane.DeleteAllOf(ctx, &v1beta2.Watcher{}, client.InNamespace(harness.ControlPlaneNamespace))
	assert.Eventually(w.T, func() bool {
		var left v1beta2.WatcherList
		if err := w.ControlPlane.List(ctx, &left); err != nil || w.Instance.Running() {
			return err == nil && len(left.Items) == 0
		}
		for i := range left.Items {
			w.ControlPlane.ForceDelete(&left.Items[i])
		}
		return true
	}, time.Minute, 200*time.Millisecond, "Watchers are left")
	_ = w.ControlPlane.DeleteAllOf(context.Background(), &corev1.Secret{}, client.InNamespace(istioNamespace))
}

func (w *watched) agentBecomes(status metav1.ConditionStatus) {
	w.T.Helper()
	w.Eventually("the condition of the agent is "+string(status), 2*time.Minute, func(c *assert.CollectT) {
		kyma := w.Kyma("watched")
		assert.True(c, meta.IsStatusConditionPresentAndEqual(kyma.Status.Conditions, string(shared.ConditionSKRWebhook), status),
			"%+v %+v", kyma.Status.LastOperation, kyma.Status.Conditions)
	})
	if status == metav1.ConditionTrue {
		w.agent.BecomesReady(time.Minute)
	}
}

// webhooks are the names of the agent's webhooks; nil where there is no configuration.
func (w *watched) webhooks(c require.TestingT) []string {
	configuration := &admissionv1.ValidatingWebhookConfiguration{}
	err := w.Remote.Get(w.T.Context(), client.ObjectKey{Name: shared.AgentName}, configuration)
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(c, err)
	names := []string{}
	for i := range configuration.Webhooks {
		names = append(names, configuration.Webhooks[i].Name)
	}
	return names
}

// counted reads a counter of the agent.
func (w *watched) counted(t require.TestingT, series string) int {
	count, err := strconv.Atoi(w.agent.Metric(series))
	require.NoError(t, err, series)
	return count
}

// becomesActedOn edits the remote Kyma, waits until that is done which the edit asks for, and requires that an event caused it.
func (w *watched) becomesActedOn(modules ...string) {
	w.T.Helper()
	since := time.Now()
	w.EditRemote(func(kyma *v1beta2.Kyma) {
		kyma.Spec.Modules = nil
		for _, name := range modules {
			kyma.Spec.Modules = append(kyma.Spec.Modules, v1beta2.Module{Name: name})
		}
	})
	w.Eventually(fmt.Sprintf("the Kyma has the modules %q", modules), soon+time.Minute, func(c *assert.CollectT) {
		kyma := w.Kyma("watched")
		names := []string{}
		for _, module := range kyma.Status.Modules {
			names = append(names, module.Name)
		}
		assert.ElementsMatch(c, modules, names)
		assert.Equal(c, shared.StateReady, kyma.Status.State)
	})
	w.causedByAnEvent(listener.ReasonKyma, kick.KymaWorkflowID(kick.RefOf(w.Kyma("watched"))), since)
}

// causedByAnEvent requires that the listener has kicked a workflow since a time, and that no sweep ran, which finds the same
// later. How long that took depends on the machine; who kicked does not.
func (w *watched) causedByAnEvent(reason, id string, since time.Time) {
	w.T.Helper()
	w.Eventually("the listener has kicked "+id, time.Minute, func(c *assert.CollectT) {
		reasons := []string{}
		for _, k := range w.Kicks(id, since) {
			reasons = append(reasons, k.Reason)
		}
		assert.Contains(c, reasons, reason)
	})
	w.NoSweepRan(0, since)
}

// moduleKicked requires that an event asked for a step of the only module.
func (w *watched) moduleKicked(since time.Time) {
	w.T.Helper()
	w.causedByAnEvent(listener.ReasonModule, kick.KymaWorkflowID(kick.RefOf(w.Kyma("watched"))), since)
}

// sample edits the default custom resource of the sample module.
func (w *watched) sample(patch string) {
	w.T.Helper()
	sample := &unstructured.Unstructured{}
	sample.SetGroupVersionKind(harness.SampleGVK)
	sample.SetNamespace(harness.RemoteNamespace)
	sample.SetName("default")
	require.NoError(w.T, w.Remote.Patch(w.T.Context(), sample, client.RawPatch(types.MergePatchType, []byte(patch))))
}

// settles waits until no Manifest is worked on, so that only an event can have it followed again.
func (w *watched) settles() {
	w.T.Helper()
	w.Eventually("the modules settle", 2*time.Minute, func(c *assert.CollectT) {
		assert.Empty(c, harness.Pending(w.History(kick.KymaWorkflowID(kick.RefOf(w.Kyma("watched"))))))
	})
}

func (w *watched) moduleBecomes(state shared.State) {
	w.T.Helper()
	w.Eventually("the module is "+string(state), soon, func(c *assert.CollectT) {
		kyma := w.Kyma("watched")
		if assert.Len(c, kyma.Status.Modules, 1) {
			assert.Equal(c, state, kyma.Status.Modules[0].State)
		}
		assert.Equal(c, state, kyma.Status.State)
	})
}

// What happens in a remote cluster is acted on at once: the API server there calls the agent, which reports to the listener.
// The next sweep is an hour away.
func TestEventsOfARemoteClusterAreActedOnAtOnce(t *testing.T) {
	w := newWatched(t)

	t.Run("an edit of the remote Kyma", func(t *testing.T) { w.becomesActedOn("sample") })
	t.Run("a module's own state, long after it settled", func(t *testing.T) {
		w.settles()
		since := time.Now()
		w.sample(`{"spec":{"desiredState":"Error"}}`)
		w.moduleBecomes(shared.StateError)
		w.moduleKicked(since)
		w.sample(`{"spec":{"desiredState":"Ready"}}`)
		w.moduleBecomes(shared.StateReady)
	})
	t.Run("an object of a module that somebody deletes, where a Watcher says so", func(t *testing.T) {
		watcher := w.watch("deployments", v1beta2.WatchedFieldSpec, v1beta2.WatchableGVR{Group: "apps", Version: "v1", Resource: "deployments"})
		harness.EditObject(t, w.ControlPlane, watcher, func() {
			watcher.Spec.LabelsToWatch = map[string]string{shared.LabelManagedBy: shared.ManagedByKyma}
		})
		w.Eventually("the agent is asked about Deployments", 2*time.Minute, func(c *assert.CollectT) {
			assert.Contains(c, w.webhooks(c), harness.ControlPlaneNamespace+".deployments."+shared.OperatorGroup)
		})
		w.settles()
		operator := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: harness.RemoteNamespace, Name: "sample-operator"}}
		require.NoError(t, w.Remote.Get(t.Context(), client.ObjectKeyFromObject(operator), operator))
		before, since := operator.UID, time.Now()
		require.NoError(t, w.Remote.Delete(t.Context(), operator))
		w.Eventually("it is there again", soon, func(c *assert.CollectT) {
			found := &appsv1.Deployment{}
			if assert.NoError(c, w.Remote.Get(t.Context(), client.ObjectKeyFromObject(operator), found)) {
				assert.NotEqual(c, before, found.UID)
			}
		})
		w.moduleKicked(since)
	})
	t.Run("a thousand edits in a row, as few reconciles", func(t *testing.T) {
		w.settles()
		id := kick.KymaWorkflowID(kick.RefOf(w.Kyma("watched")))
		before, begun := len(w.History(id).GetEvents()), time.Now()
		var all sync.WaitGroup
		for writer := range 10 {
			all.Go(func() {
				for number := range 100 {
					patch := fmt.Sprintf(`{"spec":{"skipMaintenanceWindows":%t}}`, (writer+number)%2 == 0)
					remote := &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Namespace: harness.RemoteNamespace, Name: "default"}}
					assert.NoError(t, w.Remote.Patch(t.Context(), remote, client.RawPatch(types.MergePatchType, []byte(patch))))
				}
			})
		}
		all.Wait()
		w.becomesActedOn()
		// The listener lets five kicks of a Kyma through at once, and one per second after that, however long the edits take.
		reconciles := 5 + int(time.Since(begun).Seconds()) + 1
		require.Less(t, len(w.History(id).GetEvents())-before, 40*reconciles, "a reconcile costs about 20 events of history")
	})
	t.Run("what alerts about events ask for is measured", func(t *testing.T) {
		observed := prometheus.Start(t, w.metrics, alertsAtOnce(t, t.TempDir()))
		alertsHaveTheirSeries(w.Environment, observed, func(group string) bool { return group == alertsOfEvents })
	})
	t.Run("while the agent is dead nobody is held up, and afterwards it goes on", func(t *testing.T) {
		w.agent.Kill()
		w.EditRemote(func(kyma *v1beta2.Kyma) { kyma.Spec.SkipMaintenanceWindows = !kyma.Spec.SkipMaintenanceWindows })
		w.agent.Restart()
		w.agent.BecomesReady(time.Minute)
		w.becomesActedOn("sample")
	})
	t.Run("nor while it hangs", func(t *testing.T) {
		w.agent.Pause()
		since := time.Now()
		w.EditRemote(func(kyma *v1beta2.Kyma) { kyma.Spec.SkipMaintenanceWindows = !kyma.Spec.SkipMaintenanceWindows })
		require.Less(t, time.Since(since), 20*time.Second, "the API server waits for an agent for 3 s")
		w.agent.Resume()
		w.becomesActedOn()
	})
	t.Run("while the listener is down events wait in the agent", func(t *testing.T) {
		w.Instance.Stop()
		const failed = `watcher_failed_kcp_total{error_reason="failed-request"}`
		since, before := time.Now(), w.counted(t, failed)
		w.EditRemote(func(kyma *v1beta2.Kyma) { kyma.Spec.Modules = []v1beta2.Module{{Name: "sample"}} })
		w.Eventually("attempts fail", time.Minute, func(c *assert.CollectT) { assert.GreaterOrEqual(c, w.counted(c, failed), before+4) })
		w.Instance.Start()
		w.Eventually("the edit is acted on", soon+time.Minute, func(c *assert.CollectT) {
			assert.Len(c, w.Kyma("watched").Status.Modules, 1)
			assert.Equal(c, shared.StateReady, w.Kyma("watched").Status.State)
		})
		w.causedByAnEvent(listener.ReasonKyma, kick.KymaWorkflowID(kick.RefOf(w.Kyma("watched"))), since)
	})
	t.Run("the agent goes with the Kyma, after its modules", func(t *testing.T) {
		w.RemoveKyma("watched")
		w.agent.Ended(time.Minute)
		require.Nil(t, w.webhooks(t))
		for _, object := range []client.Object{
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: harness.RemoteNamespace, Name: shared.AgentSecret}},
			&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: harness.RemoteNamespace, Name: shared.AgentName}},
			&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: harness.RemoteNamespace, Name: shared.AgentName}},
		} {
			require.True(t, apierrors.IsNotFound(w.Remote.Get(t.Context(), client.ObjectKeyFromObject(object), object)), "%T", object)
		}
		certificate := &corev1.Secret{}
		err := w.ControlPlane.Get(t.Context(), client.ObjectKey{Namespace: istioNamespace, Name: desired.CertificateName("watched")}, certificate)
		require.True(t, apierrors.IsNotFound(err), err)
	})
}

// One webhook of the agent belongs to each Watcher: it comes, changes and goes with it, and the agent itself stays.
func TestTheAgentFollowsTheWatchers(t *testing.T) {
	w := newWatched(t)
	of := func(names ...string) []string {
		all := []string{}
		for _, name := range names {
			all = append(all, harness.ControlPlaneNamespace+"."+name+"."+shared.OperatorGroup)
		}
		return all
	}
	become := func(names ...string) {
		t.Helper()
		w.Eventually(fmt.Sprintf("the agent has the webhooks of %q", names), 2*time.Minute, func(c *assert.CollectT) {
			assert.ElementsMatch(c, of(names...), w.webhooks(c))
		})
	}
	become("kymas", "samples")

	third := w.watch("third", v1beta2.WatchedFieldSpec, v1beta2.WatchableGVR{Group: "apps", Version: "v1", Resource: "deployments"})
	become("kymas", "samples", "third")
	w.Eventually("the Watcher says which address agents are given", time.Minute, func(c *assert.CollectT) {
		found := &v1beta2.Watcher{}
		require.NoError(c, w.ControlPlane.Get(t.Context(), client.ObjectKeyFromObject(third), found))
		assert.Equal(c, shared.StateReady, found.Status.State)
		assert.NotEmpty(c, found.Status.Conditions)
	})
	harness.EditObject(t, w.ControlPlane, third, func() { third.Spec.ResourceToWatch.Resource = "statefulsets" })
	w.Eventually("the agent is asked about what the Watcher says now", 2*time.Minute, func(c *assert.CollectT) {
		configuration := &admissionv1.ValidatingWebhookConfiguration{}
		require.NoError(c, w.Remote.Get(t.Context(), client.ObjectKey{Name: shared.AgentName}, configuration))
		if assert.Len(c, configuration.Webhooks, 3) {
			assert.Equal(c, []string{"statefulsets"}, configuration.Webhooks[2].Rules[0].Resources)
		}
	})
	require.NoError(t, w.ControlPlane.Delete(t.Context(), third))
	become("kymas", "samples")

	require.NoError(t, w.ControlPlane.DeleteAllOf(t.Context(), &v1beta2.Watcher{}, client.InNamespace(harness.ControlPlaneNamespace)))
	become()
	w.agentBecomes(metav1.ConditionTrue)
	w.BecomesReady("watched")
}
