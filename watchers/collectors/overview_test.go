package collectors

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/fleettest"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func overviewOf(t *testing.T, held *fleettest.Cache, leads <-chan struct{}) *Overview {
	t.Helper()
	o, err := NewOverview(t.Context(), held, leads, desired.Settings{}, func() time.Time { return noon })
	require.NoError(t, err)
	return o
}

// values returns the series of a collector, in the text format.
func values(t *testing.T, c prometheus.Collector) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(c))
	families, err := registry.Gather()
	require.NoError(t, err)
	found := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			var labels []string
			for _, label := range m.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", label.GetName(), label.GetValue()))
			}
			found[family.GetName()+"{"+strings.Join(labels, ",")+"}"] = m.GetGauge().GetValue()
		}
	}
	return found
}

// soon waits until the collector has these values.
func soon(t *testing.T, c prometheus.Collector, want map[string]float64) {
	t.Helper()
	require.Eventually(t, func() bool {
		found := values(t, c)
		for series, value := range want {
			if got, ok := found[series]; !ok || got != value {
				return false
			}
		}
		return true
	}, 30*time.Second, time.Millisecond, "want %v, have %v", want, values(t, c))
}

func kymaNamed(name string, change func(*v1beta2.Kyma)) *v1beta2.Kyma {
	kyma := &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "kcp-system", UID: types.UID(name), Generation: 1}}
	reachable := true
	kyma.Status.State, kyma.Status.ObservedGeneration = shared.StateReady, 1
	kyma.Status.Remote = &v1beta2.RemoteStatus{Reachable: &reachable}
	change(kyma)
	return kyma
}

func unreachableFor(reason string) func(*v1beta2.Kyma) {
	return func(kyma *v1beta2.Kyma) {
		reachable, since := false, metav1.NewTime(noon.Add(-time.Hour))
		kyma.Status.State, kyma.Status.Remote = shared.StateError, &v1beta2.RemoteStatus{Reachable: &reachable, Reason: reason, Since: &since}
	}
}

func manifestOf(kyma, version string, state shared.State, settled bool) *v1beta2.Manifest {
	m := &v1beta2.Manifest{ObjectMeta: metav1.ObjectMeta{
		Name: kyma + "-keda", Namespace: "kcp-system", UID: types.UID(kyma + "-keda"), Generation: 1,
		Labels: map[string]string{shared.LabelKymaName: kyma, shared.LabelModuleName: "keda"}, CreationTimestamp: metav1.NewTime(noon.Add(-time.Hour)),
	}}
	m.Spec.Version, m.Spec.Remote = version, true
	m.Status.State, m.Status.Settled, m.Status.ObservedGeneration = state, settled, 1
	return m
}

func ofVersion(version, state string) string {
	return fmt.Sprintf("lifecycle_mgr_module_version_manifests{module=%q,state=%q,version=%q}", "keda", state, version)
}

func ofClusters(reason string) string {
	return fmt.Sprintf("lifecycle_mgr_clusters{reason=%q}", reason)
}

const (
	oldestKyma     = `lifecycle_mgr_oldest_unsettled_seconds{kind="Kyma"}`
	oldestManifest = `lifecycle_mgr_oldest_unsettled_seconds{kind="Manifest"}`
)

func TestTheLeaderCountsClustersByWhyTheyCannotBeReached(t *testing.T) {
	lost := kymaNamed("lost", unreachableFor(clusters.ReasonUnreachableTLS))
	held := fleettest.NewCache(t, desiredtest.Scheme(), lost,
		kymaNamed("one", func(*v1beta2.Kyma) {}), kymaNamed("two", func(*v1beta2.Kyma) {}),
		kymaNamed("local", func(k *v1beta2.Kyma) { k.Status.Remote = nil }),
		kymaNamed("odd", unreachableFor("WordOfALaterRelease")),
		kymaNamed("new", func(k *v1beta2.Kyma) { k.Status.Remote.Reachable = nil }),
		kymaNamed("foreign", func(k *v1beta2.Kyma) { k.Labels = map[string]string{shared.LabelManagedBy: "another"} }),
	)
	leads := make(chan struct{})
	o := overviewOf(t, held, leads)
	held.Run(t)
	require.Empty(t, values(t, o), "a process that does not lead exports nothing")
	close(leads)
	soon(t, o, map[string]float64{
		ofClusters("Reachable"): 2, ofClusters("UnreachableTLS"): 1, ofClusters("Unknown"): 1, ofClusters("Other"): 1,
		ofClusters("UnreachableTimeout"): 0, ofClusters("AccessSecretNotFound"): 0,
	})
	held.Set(kymaNamed("lost", func(*v1beta2.Kyma) {}))
	soon(t, o, map[string]float64{ofClusters("Reachable"): 3, ofClusters("UnreachableTLS"): 0})
	held.Unset(lost)
	soon(t, o, map[string]float64{ofClusters("Reachable"): 2})
	problems, err := testutil.CollectAndLint(o)
	require.NoError(t, err)
	require.Empty(t, problems)
}

func TestManifestsAreCountedByVersionAndState(t *testing.T) {
	first, second := manifestOf("one", "1.0.0", shared.StateReady, true), manifestOf("two", "1.0.0", shared.StateReady, true)
	held := fleettest.NewCache(t, desiredtest.Scheme(), first, second)
	o := overviewOf(t, held, leading())
	held.Run(t)
	soon(t, o, map[string]float64{ofVersion("1.0.0", "Ready"): 2})
	held.Set(manifestOf("two", "1.1.0", shared.StateError, true))
	soon(t, o, map[string]float64{ofVersion("1.0.0", "Ready"): 1, ofVersion("1.1.0", "Error"): 1})
	held.Unset(first)
	held.Unset(second)
	require.Eventually(t, func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		return len(o.versionOf.count) == 0 && len(o.versionOf.of) == 0
	}, 30*time.Second, time.Millisecond, "nothing is left behind")
}

func TestTheAgeOfTheOldestUnsettledObjectIsExported(t *testing.T) {
	stuck := manifestOf("one", "1.0.0", shared.StateProcessing, false)
	stuck.Status.Conditions = []metav1.Condition{
		{Type: "Resources", Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon.Add(-time.Hour))},
		{Type: "Installation", Status: metav1.ConditionFalse, LastTransitionTime: metav1.NewTime(noon.Add(-10 * time.Minute))},
	}
	out := manifestOf("lost", "1.0.0", shared.StateProcessing, false)
	edited := kymaNamed("edited", func(k *v1beta2.Kyma) {
		k.Generation = 2
		k.Status.LastOperation = &v1beta2.LastOperation{LastUpdateTime: metav1.NewTime(noon.Add(-time.Minute))}
	})
	held := fleettest.NewCache(t, desiredtest.Scheme(), stuck, out, edited,
		kymaNamed("lost", unreachableFor(clusters.ReasonUnreachableTimeout)),
		kymaNamed("hopeless", func(k *v1beta2.Kyma) { k.Status.State, k.Status.WaitsForChange = shared.StateError, true }),
	)
	o := overviewOf(t, held, leading())
	held.Run(t)
	soon(t, o, map[string]float64{
		oldestManifest: 600, oldestKyma: 60,
		`lifecycle_mgr_unsettled{kind="Manifest"}`: 1, `lifecycle_mgr_unsettled{kind="Kyma"}`: 1,
	})
	held.Set(manifestOf("one", "1.0.0", shared.StateReady, true))
	edited.Status.ObservedGeneration = 2
	held.Set(edited)
	soon(t, o, map[string]float64{oldestManifest: 0, oldestKyma: 0})
	held.Set(kymaNamed("lost", func(*v1beta2.Kyma) {}))
	soon(t, o, map[string]float64{oldestManifest: 3600, `lifecycle_mgr_unsettled{kind="Manifest"}`: 1})
}
