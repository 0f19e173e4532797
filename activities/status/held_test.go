package status

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/budget"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

func heldRemoval() fault.Parts {
	return fault.Parts{fault.PartResolve: {Kind: fault.Pending, Reason: budget.ReasonHeld, Message: "removal is held: 2 of 2", Hint: "approve", SlowRetry: true}}
}

func TestAModuleShowsThatItsRemovalIsHeld(t *testing.T) {
	b := remoteBench(t)
	b.report(t)
	kyma := b.kyma(t)
	kyma.Status.Remote.Modules = nil
	require.NoError(t, b.control.Status().Update(context.Background(), kyma))
	b.in.Faults, b.told = heldRemoval(), nil
	result := b.report(t)
	require.Equal(t, shared.StateWarning, result.State)
	row := b.kyma(t).Status.Modules[0]
	require.Equal(t, shared.StateWarning, row.State)
	require.Equal(t, "removal is held: 2 of 2", row.Message)
	require.Equal(t, "approve", row.Hint)
	since := b.kyma(t).Status.RemovalHeldSince
	require.NotNil(t, since)
	require.Contains(t, b.told, "Warning RemovalHeld: removal is held: 2 of 2 [hint: approve]")

	b.told = nil
	b.report(t)
	require.Equal(t, since, b.kyma(t).Status.RemovalHeldSince)
	require.Empty(t, b.told)
	b.in.Faults = nil
	b.report(t)
	require.Nil(t, b.kyma(t).Status.RemovalHeldSince)
}

func TestAHeldDeletionIsReportedWithoutADeadline(t *testing.T) {
	b := remoteBench(t)
	b.Settings.Purge.Enabled = true
	b.report(t)
	require.NoError(t, b.control.Delete(context.Background(), b.kyma(t)))
	b.in.InputsDigest, b.in.Faults = "", heldRemoval()
	result := b.report(t)
	require.Equal(t, shared.StateDeleting, result.State)
	require.Equal(t, "removal is held: 2 of 2; waiting for modules to be deleted: keda", result.Message)
	status := b.kyma(t).Status
	require.Equal(t, "approve", status.LastOperation.Hint)
	require.Equal(t, []shared.State{shared.StateDeleting}, states(status.Modules))
	require.NotNil(t, status.RemovalHeldSince)
}

func states(modules []v1beta2.ModuleStatus) []shared.State {
	var all []shared.State
	for _, module := range modules {
		all = append(all, module.State)
	}
	return all
}
