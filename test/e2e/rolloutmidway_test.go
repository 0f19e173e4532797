package e2e

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/cluster"
	"github.com/kyma-project/lifecycle-manager/test/harness/process"
	"github.com/kyma-project/lifecycle-manager/test/harness/prometheus"
)

// neverReady is a chart whose Deployment finds no node, but in the canary, where it runs nothing.
const neverReady = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: staged
spec:
  replicas: {{ if eq .Release.Namespace "staged-0" }}0{{ else }}1{{ end }}
  selector:
    matchLabels: {app: staged}
  template:
    metadata:
      labels: {app: staged}
    spec:
      nodeSelector: {example.com/node: none}
      containers:
      - {name: staged, image: "example.com/staged:3.2.0"}
`

// order notes in which order Manifests get a version, until the test ends.
func (s *stagedFleet) order(version string) func() []string {
	s.T.Helper()
	watcher, err := client.NewWithWatch(cluster.AdminConfig(s.T, s.ControlPlane.Kubeconfig), client.Options{Scheme: s.ControlPlane.Scheme()})
	require.NoError(s.T, err)
	ctx, stop := context.WithCancel(s.T.Context())
	seen, err := watcher.Watch(ctx, &v1beta2.ManifestList{}, client.InNamespace(harness.ControlPlaneNamespace))
	require.NoError(s.T, err)
	var mutex sync.Mutex
	var order []string
	var ended sync.WaitGroup
	ended.Go(func() {
		for event := range seen.ResultChan() {
			m, ok := event.Object.(*v1beta2.Manifest)
			if !ok || m.Spec.Version != version {
				continue
			}
			mutex.Lock()
			if owner := metav1.GetControllerOf(m); owner != nil && !slices.Contains(order, owner.Name) {
				order = append(order, owner.Name)
			}
			mutex.Unlock()
		}
	})
	s.T.Cleanup(func() { seen.Stop(); stop(); ended.Wait() })
	return func() []string {
		mutex.Lock()
		defer mutex.Unlock()
		return slices.Clone(order)
	}
}

// byPlace are the fleet's Kymas in the order in which a rollout comes to them.
func (s *stagedFleet) byPlace(r v1beta2.ModuleRollout) []string {
	s.T.Helper()
	place := map[string]rollout.Place{}
	for _, kyma := range s.kymas {
		place[kyma] = rollout.PlaceOf(&r, rollout.ClusterOf(s.Kyma(kyma)))
	}
	return slices.SortedFunc(slices.Values(s.kymas), func(a, b string) int {
		if place[a].Stage != place[b].Stage {
			return place[a].Stage - place[b].Stage
		}
		if place[a].Position < place[b].Position {
			return -1
		}
		return 1
	})
}

// What may happen in the middle of a rollout, each after the other.
func TestARolloutKeepsItsPlaceWhateverHappensInTheMiddle(t *testing.T) {
	soak, two := &metav1.Duration{Duration: 1000 * time.Hour}, intstr.FromInt32(2)
	plan := canaryFirst()
	plan.Stages[0].Soak = soak
	s := newStagedFleet(t, 5, plan)
	canary := plan.Stages[0].Selector

	s.publish("1.1.0")
	before := s.reaches("1.1.0", v1beta2.RolloutSoaking)
	s.have(map[string]int{"1.0.0": 4, "1.1.0": 1})

	// The policy gets another plan, with a query that fails as long as the instance runs.
	measured := s.replan(v1beta2.RolloutPlan{Concurrency: &two, Stages: []v1beta2.RolloutStage{{
		Name: "measured", Selector: canary, Analysis: []v1beta2.RolloutAnalysis{{
			Name: "down", Query: `label_replace(up{job="` + prometheus.Job + `"}, "version", "$version", "", "")`, Max: "0.5",
		}},
	}}})

	var observed prometheus.Server
	s.step("Temporal's database is lost", func() {
		s.Instance.Stop()
		s.Namespace, s.Temporal = s.NewTemporalNamespace() // one that never saw this fleet
		metrics, noAlerts := process.FreeAddress(t), filepath.Join(t.TempDir(), "alerts.yaml")
		require.NoError(t, os.WriteFile(noAlerts, []byte("groups: []\n"), 0o600))
		observed = prometheus.Start(t, metrics, noAlerts)
		s.Instance.Flags = append(s.Instance.Flags, "--metrics-bind-address", metrics, "--rollout-prometheus-url", observed.URL())
		s.Instance.Start()
		s.Eventually("the rollout's workflow runs again", time.Minute, func(c *assert.CollectT) {
			found, err := s.Temporal.DescribeWorkflow(t.Context(), s.workflow("1.1.0"), "")
			require.NoError(c, err)
			assert.Equal(c, "Running", found.Status.String())
		})
		after := s.reaches("1.1.0", v1beta2.RolloutSoaking)
		require.Equal(t, before.Status.Stages, after.Status.Stages, "with the times as they were")
		require.Equal(t, before.Status.WaitsUntil, after.Status.WaitsUntil)
		require.Equal(t, map[string]int{"1.0.0": 4, "1.1.0": 1}, s.versions())
	})

	s.step("the ModuleReleaseMeta is deleted", func() {
		released := &v1beta2.ModuleReleaseMeta{}
		require.NoError(t, s.ControlPlane.Get(t.Context(), types.NamespacedName{Namespace: harness.ControlPlaneNamespace, Name: staged}, released))
		require.NoError(t, s.ControlPlane.Delete(t.Context(), released))
		held := s.reaches("1.1.0", v1beta2.RolloutHeld)
		require.Contains(t, held.Status.WaitsFor, "the ModuleReleaseMeta of module staged no longer gives channel regular a version")
		for _, kyma := range s.kymas {
			s.Eventually(kyma+" knows that the module is gone from the catalog", time.Minute, func(c *assert.CollectT) {
				assert.Equal(c, shared.StateError, s.Module(kyma, staged).State)
			})
			require.NotEmpty(t, s.MinimalVersion(kyma, staged), "and nothing is removed")
		}
		require.Equal(t, map[string]int{"1.0.0": 4, "1.1.0": 1}, s.versions())
		s.publish("1.1.0")
		s.reaches("1.1.0", v1beta2.RolloutSoaking)
		s.edit("1.1.0", func(r *v1beta2.ModuleRollout) { r.Spec.SkipSoak = []string{rollout.AllStages} })
		done := s.reaches("1.1.0", v1beta2.RolloutCompleted)
		require.Equal(t, before.Spec.Plan, done.Spec.Plan, "as it was when it began")
		require.Equal(t, before.Status.Stages[0].SettledAt, done.Status.Stages[0].SettledAt, "it was well all the time")
		s.have(map[string]int{"1.1.0": 5})
	})

	s.step("a rollout without a policy waits for its channel, and is aborted", func() {
		byHand := &v1beta2.ModuleRollout{
			ObjectMeta: metav1.ObjectMeta{Namespace: harness.ControlPlaneNamespace, Name: "by-hand"},
			Spec:       v1beta2.ModuleRolloutSpec{ModuleName: staged, Channel: "fast", From: "1.0.0", To: "1.0.9"},
		}
		require.NoError(t, s.ControlPlane.Create(t.Context(), byHand))
		pending := s.reaches("1.0.9", v1beta2.RolloutPending)
		require.Contains(t, pending.Status.WaitsFor, "to give channel fast the version 1.0.9")
		s.edit("1.0.9", func(r *v1beta2.ModuleRollout) { r.Spec.Abort = true })
		s.reaches("1.0.9", v1beta2.RolloutAborted)
		s.AssertRuns("module-rollout-midway", map[string]string{"soaking": s.workflow("1.1.0"), "aborted": s.workflow("1.0.9")})
	})

	s.step("an analysis fails, and is skipped", func() {
		s.Eventually("Prometheus scrapes the instance", time.Minute, func(c *assert.CollectT) {
			assert.NotEmpty(c, numbers(t, c, observed, `up{job="`+prometheus.Job+`"} == 1`))
		})
		s.PushModule(harness.MinimalModule{Name: staged, Version: "3.2.0", Channels: "regular", Templates: neverReady})
		held := s.reaches("3.2.0", v1beta2.RolloutHeld)
		require.Equal(t, measured, held.Spec.Plan, "by the plan that the policy has now")
		require.Contains(t, held.Status.WaitsFor, "query down of stage measured returns 1 for ")
		require.Contains(t, held.Status.WaitsFor, `version="3.2.0"`)
		require.Contains(t, held.Status.WaitsFor, " with version 3.2.0; allowed: at most 0.5")
		require.Equal(t, map[string]int{"1.1.0": 4, "3.2.0": 1}, s.versions())
		s.edit("3.2.0", func(r *v1beta2.ModuleRollout) { r.Spec.SkipAnalysis = []string{"measured"} })
	})

	s.step("a newer version supersedes in the middle of a stage", func() {
		s.have(map[string]int{"1.1.0": 2, "3.2.0": 3})
		require.EqualValues(t, 2, s.rolloutTo(t, "3.2.0").Status.Stages[1].Updating, "which do not settle")
		s.publish("3.3.0")
		held := s.reaches("3.3.0", v1beta2.RolloutHeld)
		require.Equal(t, "measured", held.Status.StageName)
		middle := s.reaches("3.2.0", v1beta2.RolloutSuperseded)
		for _, kyma := range s.kymas {
			there, want := rollout.ClusterOf(s.Kyma(kyma)), "1.1.0"
			if rollout.Released(&middle, rollout.PlaceOf(&middle, there)) {
				want = "3.2.0"
			}
			if rollout.Released(&held, rollout.PlaceOf(&held, there)) {
				want = "3.3.0"
			}
			require.Equal(t, want, s.Manifests(s.Kyma(kyma))[0].Spec.Version, kyma)
		}
		require.Equal(t, map[string]int{"1.1.0": 2, "3.2.0": 2, "3.3.0": 1}, s.versions())
		s.edit("3.3.0", func(r *v1beta2.ModuleRollout) { r.Spec.SkipAnalysis = []string{rollout.AllStages} })
		s.reaches("3.3.0", v1beta2.RolloutCompleted)
		for _, kyma := range s.kymas {
			s.BecomesReady(kyma, staged+"@3.3.0")
		}
	})
}
