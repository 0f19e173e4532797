package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
)

// Events in the histories of a Kyma and its Manifests together: less than the budgets of
// docs/design/workflows-and-signals.md#budgets, for short steps are local activities. On a busy machine some of them
// are taken from a queue, at six events each.
const (
	budgetFirstInstall  = 100
	budgetFurtherModule = 50
	budgetFiftyKicks    = 300
)

// assertHistoryBudgets compares a first installation with its budget. These are counts, so they are stable.
func assertHistoryBudgets(t *testing.T, s *harness.Environment, kyma *v1beta2.Kyma) {
	t.Helper()
	total, parts := s.Events(kyma)
	t.Logf("history events of a first installation: %d (%s)", total, parts)
	modules := len(kyma.Status.Modules)
	require.LessOrEqual(t, total, budgetFirstInstall+(modules-1)*budgetFurtherModule, parts)
}
