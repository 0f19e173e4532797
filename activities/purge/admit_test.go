package purge

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/budget"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// Shortening the grace period, or a script that requests purges, can force many removals that began long ago at once.
func TestTheRemovalBudgetHoldsAWaveOfPurges(t *testing.T) {
	ctx := context.Background()
	first, second := desiredtest.Kyma("keda"), desiredtest.Kyma("keda")
	second.Name, second.UID = "second", "second"
	cluster := desiredtest.NewCluster("cp", first, second)
	now := time.Now()
	limited, err := budget.New(budget.Options{ControlPlane: cluster, Cache: cluster, Limits: budget.Limits{Min: 1}, Now: func() time.Time { return now }})
	require.NoError(t, err)
	a := &Activities{
		Options: Options{Budget: limited}, steps: &manifests.Steps{Options: manifests.Options{ControlPlane: cluster}},
	}
	of := func(kyma *v1beta2.Kyma) AdmitInput { return AdmitInput{Ref: kick.RefOf(kyma)} }
	require.NoError(t, a.AdmitPurge(ctx, of(first)))
	require.NoError(t, a.AdmitPurge(ctx, of(first)), "AdmitPurge is safe to repeat")
	err = a.AdmitPurge(ctx, of(second))
	require.Equal(t, budget.ReasonHeld, fault.Of(err).Reason)
	require.True(t, fault.Of(err).SlowRetry, "the workflow asks again, the activity does not")
	now = now.Add(time.Hour)
	require.NoError(t, a.AdmitPurge(ctx, of(second)), "the budget's window has passed")
}
