package artifacts

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// A registry fails for a while in each of these ways. Then one response wakes all waiting workflows within a minute.
func TestWaitingWorkflowsAreWokenWhenTheRegistryDelivers(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]error{
		"a layer is missing":             slowRetry(ReasonLayerNotFound, "gone"),
		"a component version is missing": slowRetry(ReasonDescriptorNotFound, "gone"),
		"the content is damaged":         slowRetry(ReasonDigestMismatch, "damaged"),
		"the registry is down":           fault.New(fault.Transient, ReasonRegistryUnavailable, "refused"),
		"credentials are refused":        fault.New(fault.Transient, ReasonRegistryUnauthorized, "refused"),
	} {
		for _, outage := range []time.Duration{3 * time.Second, 10 * time.Minute} {
			synctest.Test(t, func(t *testing.T) {
				s := &Store{awaited: newAwaited(time.Now)}
				well := time.Now().Add(outage)
				asked := 0
				fetch := func(context.Context) error {
					asked++
					if time.Now().Before(well) {
						return failure
					}
					return nil
				}
				ctx, cancel := context.WithCancel(t.Context())
				woken := make(chan []Waiter)
				var watch sync.WaitGroup
				watch.Go(func() { s.Watch(ctx, func(_ context.Context, waiters []Waiter) { woken <- waiters }) })
				for _, id := range []string{"kyma/m-b", "kyma/m-a", "kyma/a", "kyma/m-a"} {
					s.awaited.note(Waiter{Workflow: id}, "key", "registry.example.com/sub", failure, fetch)
				}
				require.Equal(t, []Waiter{{Workflow: "kyma/a"}, {Workflow: "kyma/m-a"}, {Workflow: "kyma/m-b"}}, <-woken, name)
				require.LessOrEqual(t, time.Since(well), time.Minute, name)
				require.LessOrEqual(t, asked, 5+int(outage/time.Minute), name)
				require.Empty(t, s.awaited.wants)
				cancel()
				watch.Wait()
			})
		}
	}
}

func TestASilentRegistryIsAskedForOneArtifactAndThenForAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &Store{awaited: newAwaited(time.Now)}
		down := fault.New(fault.Transient, ReasonRegistryUnavailable, "refused")
		well := time.Now().Add(time.Hour)
		asked := 0
		for _, key := range []string{"a", "b", "c", "d"} {
			s.awaited.note(Waiter{Workflow: "kyma/m-" + key}, key, "https://registry.example.com", down, func(context.Context) error {
				asked++
				if time.Now().Before(well) {
					return down
				}
				return nil
			})
		}
		ctx, cancel := context.WithCancel(t.Context())
		var all []Waiter
		var watch sync.WaitGroup
		watch.Go(func() {
			s.Watch(ctx, func(_ context.Context, waiters []Waiter) { all = append(all, waiters...) })
		})
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		require.Less(t, asked, 40, "a silent registry gets one request of the four")
		for _, key := range []string{"a", "b", "c", "d"} {
			s.awaited.note(Waiter{Workflow: "kyma/m-" + key}, key, "https://registry.example.com", down, nil)
		}
		time.Sleep(31 * time.Minute)
		synctest.Wait()
		require.Equal(t, []Waiter{{Workflow: "kyma/m-a"}, {Workflow: "kyma/m-b"}, {Workflow: "kyma/m-c"}, {Workflow: "kyma/m-d"}}, all)
		cancel()
		watch.Wait()
	})
}

func TestWorkflowsWaitOnlyForFaultsThatARegistryCanFix(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	a := newAwaited(func() time.Time { return now })
	missing := slowRetry(ReasonLayerNotFound, "gone")
	a.note(Waiter{Workflow: "kyma/m-a"}, "key", "host", fault.New(fault.Rejected, ReasonInvalidDescriptor, "it is a chart"), nil)
	a.note(Waiter{Workflow: "kyma/m-a"}, "key", "host", context.Canceled, nil)
	a.note(Waiter{Workflow: "kyma/m-a"}, "key", "host", errors.New("panic: boom"), nil)
	a.note(Waiter{}, "key", "host", missing, nil)
	require.Empty(t, a.wants)

	a.note(Waiter{Workflow: "kyma/m-a"}, "key", "host", missing, nil)
	a.note(Waiter{Workflow: "kyma/m-b"}, "key", "host", missing, nil)
	now = now.Add(30 * time.Minute)
	a.note(Waiter{Workflow: "kyma/m-b"}, "key", "host", missing, nil)
	now = now.Add(20 * time.Minute)
	a.due()
	require.Len(t, a.wants["key"].waiters, 1, "a workflow without a new attempt is forgotten")
	a.note(Waiter{Workflow: "kyma/m-b"}, "key", "host", nil, nil)
	require.Empty(t, a.take(), "a workflow that has the artifact is not woken")

	busy := fault.New(fault.Transient, ReasonRegistryUnavailable, "busy")
	busy.RetryAfter = 3 * time.Minute
	a.note(Waiter{Workflow: "kyma/m-a"}, "key", "host", busy, nil)
	require.Equal(t, now.Add(3*time.Minute), a.wants["key"].next, "a registry may ask for a longer wait")
}

func TestAnActivityWaitsForALayerThatItFailedToFetch(t *testing.T) {
	t.Parallel()
	r := newTestRegistry(t)
	l := r.push(t, []byte("content"))
	var missing atomic.Bool
	missing.Store(true)
	r.answer = func(w http.ResponseWriter, req *http.Request) bool {
		if !missing.Load() || !strings.Contains(req.URL.Path, "/blobs/") {
			return false
		}
		w.WriteHeader(http.StatusNotFound)
		return true
	}
	s := r.store(t, nil)
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	fetch := func(ctx context.Context) error {
		if _, err := s.Fetch(ctx, l); err != nil {
			return fault.ToTemporal(err)
		}
		_, err := s.FetchDescriptor(ctx, r.host+"/sub", component, "1.0.0")
		return fault.ToTemporal(err)
	}
	env.RegisterActivityWithOptions(fetch, activity.RegisterOptions{Name: "fetch"})
	_, err := env.ExecuteActivity("fetch")
	require.Equal(t, ReasonLayerNotFound, fault.FromTemporal(err).Reason)
	missing.Store(false)
	_, err = s.Fetch(t.Context(), l)
	require.NoError(t, err)
	require.Len(t, s.awaited.take(), 1)
	_, err = env.ExecuteActivity("fetch")
	require.Equal(t, ReasonDescriptorNotFound, fault.FromTemporal(err).Reason)
	require.Len(t, s.awaited.wants, 1)
}
