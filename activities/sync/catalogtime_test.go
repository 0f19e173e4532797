package sync

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// Modules are resolved after the synchronization, so a new cluster would wait minutes for its first module.
func TestModulesDoNotWaitForACopyOfALargeCatalog(t *testing.T) {
	const templates = 100
	b := newBench(t, desiredtest.Kyma(), desired.Settings{})
	for i := range templates {
		require.NoError(t, b.control.Create(t.Context(), desiredtest.ChannelTemplate(fmt.Sprintf("module-%d", i), "regular", "1.0.0")))
	}
	now := time.Now()
	b.now = func() time.Time { return now }
	b.remote.Fail = func(verb, _ string) error {
		if verb == "apply" {
			now = now.Add(time.Second) // how long each request takes
		}
		return nil
	}
	copies := func() int {
		var list v1beta2.ModuleTemplateList
		require.NoError(t, b.remote.List(t.Context(), &list))
		return len(list.Items)
	}
	result := b.sync(t)
	require.Equal(t, OutcomeSynced, result.Outcome)
	require.Equal(t, fault.Pending, result.Faults[fault.PartCatalog].Kind, "the Kyma is reconciled again, without an error")
	require.Contains(t, result.Faults[fault.PartCatalog].Message, "31 of 100 changed objects")
	reconciles := 1
	for ; !result.Faults[fault.PartCatalog].IsZero(); reconciles++ {
		before := copies()
		result = b.sync(t)
		require.Greater(t, copies(), before, "each reconcile makes progress")
	}
	require.Equal(t, 4, reconciles)
	require.Equal(t, templates, copies())
}
