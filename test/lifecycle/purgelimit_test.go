package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/activities/purge"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

func TestALongPurgeContinuesAndAbandonsNothing(t *testing.T) {
	const crs = 40
	s := newEnvironment(t, moduleYAML, nil)
	s.installReady()
	for i := range crs {
		cr := s.sample(fmt.Sprintf("mine-%d", i))
		cr.SetFinalizers([]string{"example.com/nobody"})
		require.NoError(t, s.remote.Create(context.Background(), cr))
	}
	s.deleteKyma()
	s.activities.Purge.Options.PurgeLimit = 6 * time.Second
	s.requests.intercept(func(r *http.Request) error {
		if r.Method != http.MethodGet && strings.Contains(r.URL.Path, "/samples/") {
			time.Sleep(800 * time.Millisecond)
		}
		return nil
	})
	forced, rounds := 0, 0
	for ; ; rounds++ {
		require.Less(t, rounds, 15)
		result := s.purge(true)
		require.Empty(t, result.Unreached)
		forced += result.Forced
		if result.Outcome == manifests.OutcomeRemoved {
			break
		}
		require.Equal(t, manifests.OutcomeWaiting, result.Outcome)
		require.True(t, result.Progress)
		require.Equal(t, fault.Transient, result.Fault.Kind)
		require.Equal(t, purge.ReasonPurgeContinues, result.Fault.Reason)
		require.False(t, s.manifestIsGone())
	}
	require.NotZero(t, rounds, "one step is not enough")
	require.GreaterOrEqual(t, forced, crs)
	require.NotContains(t, strings.Join(s.events(), "\n"), "PurgeAbandoned")
	require.Eventually(t, func() bool {
		return s.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "samples.ID.example.com") == nil
	}, time.Minute, 100*time.Millisecond)
}

// client-go refuses a request at once whose turn, by the limit of requests to a cluster, comes after the deadline.
func TestAPurgeWhoseRequestsWouldComeTooLateContinues(t *testing.T) {
	s := newEnvironment(t, moduleYAML, nil)
	s.installReady()
	for _, name := range []string{"first", "second"} {
		cr := s.sample(name)
		cr.SetFinalizers([]string{"example.com/nobody"})
		require.NoError(t, s.remote.Create(context.Background(), cr))
	}
	s.deleteKyma()
	s.activities.Purge.Options.PurgeLimit = 5 * time.Second
	var patches atomic.Int32
	s.requests.intercept(func(r *http.Request) error {
		if r.Method != http.MethodPatch || !strings.Contains(r.URL.Path, "/samples/") || patches.Add(1) == 1 {
			return nil
		}
		end, _ := r.Context().Deadline()
		time.Sleep(time.Until(end.Add(-500 * time.Millisecond)))
		return errors.New("client rate limiter Wait returned an error: rate: Wait(n=1) would exceed context deadline")
	})
	result := s.purge(true)
	require.Equal(t, manifests.OutcomeWaiting, result.Outcome)
	require.True(t, result.Progress)
	require.Equal(t, purge.ReasonPurgeContinues, result.Fault.Reason)
	s.requests.intercept(nil)
	require.Equal(t, manifests.OutcomeRemoved, s.purge(true).Outcome)
	require.NotContains(t, strings.Join(s.events(), "\n"), "PurgeAbandoned")
}

func TestOfTwoPurgesTheSlowerOneReportsNothing(t *testing.T) {
	s := newEnvironment(t, moduleYAML, withDefaultCR)
	s.installReady()
	s.deleteKyma()
	var once sync.Once
	s.requests.intercept(func(r *http.Request) error {
		if r.Method == http.MethodDelete {
			// The other one releases the Manifest meanwhile.
			once.Do(func() { s.update(func(m *v1beta2.Manifest) { m.Finalizers = nil }) })
		}
		return nil
	})
	require.Equal(t, manifests.OutcomeGone, s.purge(true).Outcome)
	require.True(t, s.manifestIsGone())
	require.NotContains(t, strings.Join(s.events(), "\n"), "PurgeAbandoned")
}

func TestAPurgeThatFailsHalfwayNamesWhatItForcedAndThenWhatRemains(t *testing.T) {
	s := newEnvironment(t, moduleYAML, withDefaultCR)
	s.installReady()
	s.hold("ID.example.com/v1", "Sample", "ID-remote", "default", "example.com/nobody")
	s.deleteKyma()
	s.requests.intercept(func(r *http.Request) error {
		if r.Method == http.MethodDelete && !strings.Contains(r.URL.Path, "/samples/") {
			return errors.New("cut")
		}
		return nil
	})
	result := s.purge(false)
	require.Equal(t, manifests.OutcomeWaiting, result.Outcome)
	require.False(t, result.Progress, "the cluster does not answer any more")
	require.Equal(t, fault.Unreachable, result.Fault.Kind)
	require.Equal(t, []string{"Sample " + s.id + "-remote/default"}, result.Names)
	require.False(t, s.manifestIsGone())

	_, err := s.activities.Purge.PurgeManifest(context.Background(), purge.Input{Ref: kick.RefOf(s.manifest)})
	require.Error(t, err, "nothing was forced")
	result = s.purge(true)
	require.Equal(t, manifests.OutcomeRemoved, result.Outcome)
	require.Contains(t, result.Unreached, "; ")
	require.Contains(t, result.Unreached, "Deployment "+s.id+"-remote/operator")
	require.Contains(t, strings.Join(s.events(), "\n"), "Deployment ID-remote/operator")
}
