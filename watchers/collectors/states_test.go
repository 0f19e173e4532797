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

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/fleettest"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
)

func stateMetrics(tb testing.TB, held *fleettest.Cache, leads <-chan struct{}) *States {
	tb.Helper()
	metrics, err := NewStates(tb.Context(), held, leads, desired.Settings{})
	require.NoError(tb, err)
	return metrics
}

// leading returns a channel that marks this process as the leader.
func leading() <-chan struct{} {
	leads := make(chan struct{})
	close(leads)
	return leads
}

// exported requires that the state metrics soon equal these lines, without comments.
func exported(t *testing.T, metrics prometheus.Collector, want ...string) {
	t.Helper()
	expected := strings.Builder{}
	for name, help := range map[string]string{
		"lifecycle_mgr_kyma_state": "The state of a Kyma.", "lifecycle_mgr_module_state": "The state of a module of a Kyma.",
		"lifecycle_mgr_mandatory_module_state": "The state of a mandatory module of a Kyma.",
	} {
		shown := false
		for _, each := range want {
			if strings.HasPrefix(each, name+"{") {
				if !shown {
					fmt.Fprintf(&expected, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name)
				}
				shown = true
				fmt.Fprintln(&expected, each)
			}
		}
	}
	var err error
	require.Eventually(t, func() bool {
		err = testutil.CollectAndCompare(metrics, strings.NewReader(expected.String()))
		return err == nil
	}, 30*time.Second, time.Millisecond, "%v", err)
}

func shown() *v1beta2.Kyma {
	kyma := &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{
		Name: "one", Namespace: "kcp-system", UID: "one",
		Labels:      map[string]string{"kyma-project.io/instance-id": "i-1"},
		Annotations: map[string]string{"skr-domain": "c-123.example.com"},
	}}
	kyma.Status.State = "Warning"
	kyma.Status.Modules = []v1beta2.ModuleStatus{{Name: "keda", State: "Ready"}, {Name: "eventing", State: "Warning"}}
	return kyma
}

const (
	kymaWarns     = `lifecycle_mgr_kyma_state{instance_id="i-1",kyma_name="one",shoot="c-123",state="Warning"} 1`
	eventingWarns = `lifecycle_mgr_module_state{instance_id="i-1",kyma_name="one",module_name="eventing",shoot="c-123",state="Warning"} 1`
	kedaReady     = `lifecycle_mgr_module_state{instance_id="i-1",kyma_name="one",module_name="keda",shoot="c-123",state="Ready"} 1`
	mustReady     = `lifecycle_mgr_mandatory_module_state{kyma_name="kyma-00000",module_name="must",state="Ready"} 1`
)

func TestTheLeaderExportsOneSeriesPerKymaAndModule(t *testing.T) {
	foreign := &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{
		Name: "foreign", Namespace: "kcp-system", UID: "foreign", Labels: map[string]string{"operator.kyma-project.io/managed-by": "another"},
	}}
	synced := shown()
	synced.Name, synced.UID, synced.Annotations = "copy", "copy", map[string]string{desired.AnnotationSyncedFrom: "kcp-system/one"}
	listed := mandatoryOf(1)
	listed.Labels = map[string]string{"operator.kyma-project.io/module-name": "listed"}
	held := fleettest.NewCache(t, desiredtest.Scheme(), shown(), foreign, synced, mandatoryOf(0), listed)
	leads := make(chan struct{})
	metrics := stateMetrics(t, held, leads)
	held.Run(t)
	require.Zero(t, testutil.CollectAndCount(metrics), "a process that does not lead exports nothing")
	close(leads) // a new leader has followed the events all along
	exported(t, metrics, kymaWarns, eventingWarns, kedaReady, mustReady)
	_, err := testutil.CollectAndLint(metrics)
	require.NoError(t, err)
}

func TestStateMetricsFollowEveryChange(t *testing.T) {
	kyma, must := shown(), mandatoryOf(0)
	held := fleettest.NewCache(t, desiredtest.Scheme(), kyma, must)
	metrics := stateMetrics(t, held, leading())
	held.Run(t)
	exported(t, metrics, kymaWarns, eventingWarns, kedaReady, mustReady)

	kyma.Status.State, kyma.Status.Modules = "Ready", kyma.Status.Modules[:1]
	held.Set(kyma)
	ready := strings.Replace(kymaWarns, "Warning", "Ready", 1)
	exported(t, metrics, ready, kedaReady, mustReady)

	second := shown()
	second.Name, second.UID = "two", "two"
	held.Set(second)
	held.Unset(must)
	ofSecond := strings.NewReplacer(`"one"`, `"two"`)
	exported(t, metrics, ready, kedaReady, ofSecond.Replace(kymaWarns), ofSecond.Replace(eventingWarns), ofSecond.Replace(kedaReady))

	held.Unset(kyma)
	held.UnsetUnseen(second)
	exported(t, metrics)
	metrics.objects.mu.Lock()
	defer metrics.objects.mu.Unlock()
	require.Empty(t, metrics.objects.of)
	require.Empty(t, metrics.objects.uses)
}

// Kyma names are unique only within a namespace. Equal series of two Kymas must not make a scrape fail.
func TestEqualSeriesOfTwoKymasAreExportedOnceUntilBothAreGone(t *testing.T) {
	kyma, duplicate := shown(), shown()
	duplicate.Namespace, duplicate.UID = "elsewhere", "twin"
	held := fleettest.NewCache(t, desiredtest.Scheme(), kyma, duplicate)
	metrics := stateMetrics(t, held, leading())
	held.Run(t)
	exported(t, metrics, kymaWarns, eventingWarns, kedaReady)
	held.Unset(kyma)
	require.Eventually(t, func() bool {
		metrics.objects.mu.Lock()
		defer metrics.objects.mu.Unlock()
		return len(metrics.objects.of) == 1
	}, 30*time.Second, time.Millisecond)
	exported(t, metrics, kymaWarns, eventingWarns, kedaReady)
	held.Unset(duplicate)
	exported(t, metrics)
}
