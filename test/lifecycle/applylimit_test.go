package lifecycle

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
)

func TestAnInstallationThatTakesLongerThanAStepContinues(t *testing.T) {
	const objects = 40
	names := make([]string, objects)
	for i := range names {
		names[i] = fmt.Sprintf("part-%d", i)
	}
	s := newEnvironment(t, configMap(names...), nil)
	s.activities.Install.Options.ApplyLimit = 2 * time.Second
	s.requests.intercept(func(r *http.Request) error {
		if r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/configmaps/") {
			time.Sleep(time.Second)
		}
		return nil
	})
	applied, reconciles, patches := 0, 0, 0
	for {
		result := s.apply()
		reconciles++
		for _, request := range s.requests.take() {
			if strings.HasPrefix(request, http.MethodPatch) && strings.Contains(request, "/configmaps/") {
				patches++
			}
		}
		known := 0
		for _, e := range s.read().Status.Inventory {
			if e.UID != "" && e.Hash != "" {
				known++
			}
		}
		require.Greater(t, known, applied, "each reconcile makes progress")
		applied = known
		if result.Outcome == manifests.OutcomeApplied {
			break
		}
		require.Equal(t, manifests.OutcomeIncomplete, result.Outcome)
		require.Equal(t, shared.StateProcessing, result.Observed.State)
		require.Equal(t, readiness.ReasonApplyContinues, result.Observed.Reason)
		require.Equal(t, fmt.Sprintf("%d of %d objects are applied, the next reconcile continues", applied, objects), result.Observed.Message)
		require.Empty(t, s.read().Status.InstalledVersion)
	}
	require.Greater(t, reconciles, 1)
	require.Equal(t, objects, applied)
	// A namespace that does not exist yet costs the first ones two.
	require.LessOrEqual(t, patches, objects+s.activities.Applier.Options.Parallel, "what is unchanged is not applied again")
	require.Equal(t, "1.0.0", s.read().Status.InstalledVersion)
}
