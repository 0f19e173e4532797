package signals

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/background"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/status"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/test/harness/temporaltest"
)

// sleepers is how many Kymas wake; LM_BENCH_SLEEPERS is another number.
const sleepers = 500

// sleeping is a fleet of Kymas whose reconciles do nothing but ask for the next one.
type sleeping struct {
	mu sync.Mutex
	// reconciles counts those of each Kyma: on a busy machine one may be retried. Woken is when each reconciled first after
	// the opening.
	reconciles map[types.UID]int
	woken      map[types.UID]time.Time
	// opens is when the window opens; zero until the fleet sleeps. Asks: whether reconciles ask for the next one at that time.
	opens time.Time
	asks  bool
	// Nothing is deleted.
	background.RemoteSteps
	background.StatusSteps
}

func (s *sleeping) activities() map[string]any {
	all := quiet(newState())
	all["SyncRemote"], all["ResolveKyma"], all["ReconcileInBackground"] = s.SyncRemote, s.ResolveKyma, background.New(s, s, nil, s).ReconcileInBackground
	return all
}

// SyncRemote implements background.RemoteSteps.
func (s *sleeping) SyncRemote(_ context.Context, in syncing.Input) (syncing.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reconciles[in.Ref.UID]++
	if now := time.Now(); !s.opens.IsZero() && !now.Before(s.opens) && s.woken[in.Ref.UID].IsZero() {
		s.woken[in.Ref.UID] = now
	}
	return syncing.Result{Outcome: syncing.OutcomeOff}, nil
}

// ResolveKyma implements background.Resolver.
func (s *sleeping) ResolveKyma(context.Context, resolve.Input) (resolve.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	result := resolve.Result{Outcome: resolve.OutcomeDone, InputsDigest: "d"}
	if s.asks && time.Now().Before(s.opens) {
		result.NextReconcile, result.NextReconcileFor = s.opens, "the maintenance window"
	}
	return result, nil
}

// ReportKyma implements background.StatusSteps.
func (*sleeping) ReportKyma(context.Context, status.ReportInput) (status.ReportResult, error) {
	return status.ReportResult{Outcome: status.OutcomeReported}, nil
}

// reconciled is how many Kymas have been reconciled so often.
func (s *sleeping) reconciled(often int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	kymas := 0
	for _, count := range s.reconciles {
		if count >= often {
			kymas++
		}
	}
	return kymas
}

// wakings are when the Kymas woke, in order.
func (s *sleeping) wakings() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.woken), time.Time.Compare)
}

// BenchmarkWake is how a Temporal server takes it when a window opens for a whole fleet: with the reconciles spread, as a
// window's are, and all at the same instant. Seconds are from the opening to the reconcile.
func BenchmarkWake(b *testing.B) {
	count := sleepers
	if asked := os.Getenv("LM_BENCH_SLEEPERS"); asked != "" {
		var err error
		count, err = strconv.Atoi(asked)
		require.NoError(b, err)
	}
	for _, spread := range []bool{true, false} {
		b.Run(map[bool]string{true: "spread", false: "at-once"}[spread], func(b *testing.B) {
			_, temporal := temporaltest.Namespace(b, "waking")
			s := &sleeping{}
			startWorkers(b, temporal, s.activities())
			for b.Loop() {
				wake(b, temporal, s, count, spread)
			}
		})
	}
}

func wake(b *testing.B, temporal client.Client, s *sleeping, count int, spread bool) {
	b.Helper()
	sender := kick.NewSender(temporal, nil, nil)
	run := time.Now().UnixNano()
	refs := make([]kick.Ref, count)
	for i := range refs {
		refs[i] = kick.Ref{Namespace: "ns", Name: fmt.Sprintf("kyma-%d", i), UID: types.UID(fmt.Sprintf("%d-%d", run, i))}
	}
	all := func(k kick.Kick) {
		var group errgroup.Group
		group.SetLimit(32)
		for _, ref := range refs {
			group.Go(func() error { return sender.Kyma(b.Context(), ref, k) })
		}
		require.NoError(b, group.Wait())
	}
	s.mu.Lock()
	s.reconciles, s.woken, s.opens, s.asks = map[types.UID]int{}, map[types.UID]time.Time{}, time.Time{}, false
	s.mu.Unlock()
	began := time.Now()
	all(kick.Kick{Reason: "Kyma changed", Urgent: true})
	require.Eventually(b, func() bool { return s.reconciled(1) == count }, 20*time.Minute, 100*time.Millisecond)
	opens := time.Now().Add(2*time.Since(began) + 10*time.Second)
	s.mu.Lock()
	s.opens, s.asks = opens, spread
	s.mu.Unlock()
	if spread {
		all(kick.Kick{Reason: "a version that needs a window", Urgent: true})
		require.Eventually(b, func() bool { return s.reconciled(2) == count }, 20*time.Minute, 100*time.Millisecond)
	} else {
		all(kick.Kick{Reason: "a version that needs a window", NotBefore: &opens})
	}
	require.True(b, time.Now().Before(opens), "the window opened before all slept")
	b.Logf("%d workflows sleep, %.0f s after the first was started", count, time.Since(began).Seconds())

	require.Eventually(b, func() bool { return len(s.wakings()) == count }, 20*time.Minute, 100*time.Millisecond)
	woken := s.wakings()
	for name, at := range map[string]time.Time{"median-s": woken[len(woken)/2], "last-s": woken[len(woken)-1]} {
		b.ReportMetric(at.Sub(opens).Seconds(), name)
	}
	b.ReportMetric(float64(failedTasks(b, temporal, refs)), "failed-tasks")
}

// failedTasks is how many workflow tasks failed, of every tenth of these Kymas.
func failedTasks(b *testing.B, temporal client.Client, refs []kick.Ref) int {
	b.Helper()
	failed := 0
	for i := 0; i < len(refs); i += 10 {
		iterator := temporal.GetWorkflowHistory(b.Context(), kick.KymaWorkflowID(refs[i]), "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for iterator.HasNext() {
			event, err := iterator.Next()
			require.NoError(b, err)
			// What the worker that has the run in its cache did not get to in time goes to any worker.
			late := event.GetWorkflowTaskTimedOutEventAttributes().GetTimeoutType() == enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START
			switch event.GetEventType() { //nolint:exhaustive // the others are no failures
			case enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED, enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT:
				if !late {
					failed++
				}
			}
		}
	}
	return failed
}
