package install

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts"
)

func TestAModuleWithUnfetchedLayersShowsItsKnownState(t *testing.T) {
	down := fault.Fault{Kind: fault.Transient, Reason: artifacts.ReasonRegistryUnavailable, Message: "connection refused"}
	ready := readiness.Observed{State: shared.StateReady, Reason: readiness.ReasonReady, Message: "module is ready", Ready: 2, Total: 2}
	failed := readiness.Observed{State: shared.StateError, Reason: readiness.ReasonResourcesFailed, Message: "a pod failed"}
	missing := readiness.Observed{State: shared.StateProcessing, Reason: readiness.ReasonResourcesMissing, Message: "gone"}
	conflict := readiness.Observed{State: shared.StateWarning, Reason: readiness.ReasonFieldConflict, Message: "kubectl keeps changing it"}
	for name, c := range map[string]struct {
		seen            readiness.Observed
		gone, changed   []string
		state           shared.State
		reason, message string
	}{
		"as it was applied":            {ready, nil, nil, shared.StateReady, down.Reason, "the module is ready, but its layers cannot be fetched: connection refused"},
		"an object is gone":            {ready, []string{"ConfigMap n/a"}, nil, shared.StateError, down.Reason, "missing: ConfigMap n/a; the repair waits for the registry: connection refused"},
		"a workload is gone":           {missing, []string{"Deployment n/a"}, nil, shared.StateError, down.Reason, "missing: Deployment n/a; the repair waits for the registry: connection refused"},
		"an object is changed":         {ready, nil, []string{"ConfigMap n/a"}, shared.StateWarning, down.Reason, "changed: ConfigMap n/a; the repair waits for the registry: connection refused"},
		"both":                         {ready, []string{"ConfigMap n/a"}, []string{"ConfigMap n/b"}, shared.StateError, down.Reason, "missing: ConfigMap n/a; changed: ConfigMap n/b; the repair waits for the registry: connection refused"},
		"in error, as it was applied":  {failed, nil, nil, shared.StateError, readiness.ReasonResourcesFailed, "a pod failed"},
		"in error, and changed":        {failed, nil, []string{"ConfigMap n/a"}, shared.StateError, down.Reason, "a pod failed; changed: ConfigMap n/a; the repair waits for the registry: connection refused"},
		"a warning, as it was applied": {conflict, nil, nil, shared.StateWarning, readiness.ReasonFieldConflict, "kubectl keeps changing it"},
	} {
		got := withoutRepair(c.seen, c.gone, c.changed, down)
		require.Equal(t, c.state, got.State, name)
		require.Equal(t, c.reason, got.Reason, name)
		require.Equal(t, c.message, got.Message, name)
	}
}
