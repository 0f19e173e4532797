package watchers

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	stages "github.com/kyma-project/lifecycle-manager/internal/model/rollout"
)

// simulated is a rollout to a number of clusters. The control plane upgrades them one after the other, as fast as it
// can.
type simulated struct {
	r            *v1beta2.ModuleRollout
	observations []stages.Observation
	settles      []time.Time // when a released cluster becomes ready; zero for the others
	now          time.Time
	free         time.Time     // when the control plane has finished all released clusters
	each         time.Duration // duration per cluster
}

func simulate(clusters int, parts, concurrency int32, each time.Duration) *simulated {
	share, atOnce := 100/parts, intstr.FromInt32(concurrency)
	s := &simulated{
		r: &v1beta2.ModuleRollout{Spec: v1beta2.ModuleRolloutSpec{
			ModuleName: "keda", Channel: "regular", From: "1.0.0", To: "1.1.0", Policy: "all",
			Plan: v1beta2.RolloutPlan{Concurrency: &atOnce, SettleWithin: &metav1.Duration{Duration: 10 * time.Hour}},
		}},
		settles: make([]time.Time, clusters), now: time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC), each: each,
	}
	for i := range parts - 1 {
		s.r.Spec.Plan.Stages = append(s.r.Spec.Plan.Stages, v1beta2.RolloutStage{Name: fmt.Sprintf("s%d", i), Percent: &share})
	}
	for i := range clusters {
		s.observations = append(s.observations, stages.Observation{
			Cluster: stages.Cluster{UID: types.UID(fmt.Sprintf("uid-%d", i))}, Kyma: fmt.Sprintf("kcp-system/k%d", i), Version: "1.0.0", State: shared.StateReady,
		})
	}
	return s
}

// step takes one step, and returns when the next is due.
func (s *simulated) step(t *testing.T) time.Time {
	t.Helper()
	for i, at := range s.settles {
		if !at.IsZero() && !at.After(s.now) {
			s.observations[i].Version = "1.1.0"
		}
	}
	status, until := stages.Decide(s.r, stages.Observe(s.r, s.observations, s.now), stages.Situation{Now: s.now, Desired: "1.1.0"})
	s.r.Status = status
	place, coming := stages.PlaceFunc(s.r), []time.Time(nil)
	if s.free.Before(s.now) {
		s.free = s.now
	}
	for i := range s.observations {
		if s.settles[i].IsZero() && stages.Released(s.r, place(s.observations[i].Cluster)) {
			s.free = s.free.Add(s.each)
			s.settles[i] = s.free
		}
		if at := s.settles[i]; at.After(s.now) {
			coming = append(coming, at)
		}
	}
	next := s.now.Add(stages.Recheck(s.r, s.now)) // as package advance does
	if !until.IsZero() && until.Before(next) {
		next = until
	}
	// The watcher kicks for each cluster that settles, and its queue keeps the earliest kick.
	slices.SortFunc(coming, time.Time.Compare)
	for i, at := range coming {
		kick := at.Add(spacing(s.r, false, at))
		enough := stages.SettledEnough(s.r, int32(i+1))
		if enough {
			kick = at.Add(stages.MinSpacing)
		}
		if kick.Before(next) {
			next = kick
		}
		if enough || at.After(next) {
			break
		}
	}
	return next
}

// A step takes seven history events. A rollout to 10,000 clusters must stay below 2,000 events.
func TestARolloutOverManyClustersTakesFewSteps(t *testing.T) {
	const perStep, most = 7, 2000
	for _, test := range []struct {
		clusters    int
		concurrency int32
		each        time.Duration
	}{
		{100, 500, 250 * time.Millisecond},
		{1000, 500, 250 * time.Millisecond},
		{10_000, 500, 250 * time.Millisecond},
		{10_000, 500, 2 * time.Second},
		{10_000, 50, 2 * time.Second},
	} {
		t.Run(fmt.Sprintf("%d clusters, %d at once, one in %s", test.clusters, test.concurrency, test.each), func(t *testing.T) {
			s := simulate(test.clusters, 5, test.concurrency, test.each)
			steps, began := 0, s.now
			for ; !s.r.HasEnded(); steps++ {
				require.Less(t, steps*perStep, most, "%s after %s", s.r.Status.Progress, s.now.Sub(began))
				next := s.step(t)
				if !s.r.HasEnded() {
					s.now = next
				}
			}
			took, least := s.now.Sub(began), time.Duration(test.clusters)*test.each
			t.Logf("%d steps, %d events in %s; the clusters themselves took %s", steps, steps*perStep, took, least)
			require.Equal(t, v1beta2.RolloutCompleted, s.r.Status.Phase)
			require.Less(t, took, least+least/4+time.Minute, "fewer steps must not slow the rollout down")
		})
	}
}
