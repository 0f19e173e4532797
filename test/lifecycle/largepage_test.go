package lifecycle

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
)

func TestAPageThatIsTooLargeIsReadInSmallerOnes(t *testing.T) {
	module := moduleYAML
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		module += strings.ReplaceAll("---\n"+sampleYAML+"}\n", "name: one", "name: "+name)
	}
	s := newEnvironment(t, module, nil)
	require.Equal(t, manifests.OutcomeApplied, s.apply().Outcome)
	s.requests.intercept(func(r *http.Request) error {
		limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
		if strings.HasSuffix(r.URL.Path, "/samples") && err == nil && limit > 2 {
			return clusters.ErrResponseTooLarge
		}
		return nil
	})
	seen := s.ready(readiness.Observed{State: shared.StateProcessing})
	require.Equal(t, seen.Total, seen.Ready)
	s.report(seen, true)
	how, requests := s.differs()
	require.Empty(t, how)
	lists := 0
	for _, request := range requests {
		if strings.HasSuffix(request, "/samples") {
			lists++
		}
	}
	require.Equal(t, 8+5, lists, "500, 250, 125, 62, 31, 15, 7 and 3 are refused, then each of the objects comes alone")

	require.NoError(t, s.remote.Delete(context.Background(), s.sample("e")))
	require.Eventually(t, func() bool { how, _ = s.differs(); return how == "the module's resources drifted" }, time.Minute, 100*time.Millisecond)
}
