package status

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/model/planning"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

func TestTheStatusShowsWhetherOnlyAChangeCanHelp(t *testing.T) {
	refused := func(t *testing.T, b *bench, settled bool) {
		t.Helper()
		b.says(t, "keda", shared.StateError, "Deployment keda is refused")
		manifest := b.manifest(t, "keda")
		manifest.Status.Settled = settled
		require.NoError(t, b.control.Status().Update(context.Background(), manifest))
	}
	for name, test := range map[string]struct {
		modules []string
		given   func(t *testing.T, b *bench)
		want    bool
	}{
		"a module in progress":                     {modules: []string{"keda"}},
		"a module missing in the catalog":          {modules: []string{"keda", "nowhere"}, want: true},
		"a module that is retried":                 {modules: []string{"keda"}, given: func(t *testing.T, b *bench) { t.Helper(); refused(t, b, false) }},
		"a module that was refused":                {modules: []string{"keda"}, given: func(t *testing.T, b *bench) { t.Helper(); refused(t, b, true) }, want: true},
		"a cluster without an access Secret":       {modules: []string{"keda"}, given: func(_ *testing.T, b *bench) { b.in.Faults = b.in.Faults.With(fault.PartSync, accessMissing()) }, want: true},
		"a rejected kubeconfig":                    {modules: []string{"keda"}, given: func(_ *testing.T, b *bench) { b.in.Faults = fault.Parts{fault.PartSync: {Kind: fault.Rejected}} }, want: true},
		"a cluster that does not answer":           {modules: []string{"keda"}, given: func(_ *testing.T, b *bench) { b.in.Faults = fault.Parts{fault.PartSync: {Kind: fault.Unreachable}} }},
		"a catalog that could not be written once": {modules: []string{"keda"}, given: func(_ *testing.T, b *bench) { b.in.Faults = fault.Parts{fault.PartCatalog: {Kind: fault.Transient}} }},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, desiredtest.Kyma(test.modules...), desired.ModeSingleCluster, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
			b.reconcile(t)
			if test.given != nil {
				test.given(t, b)
			}
			b.report(t)
			require.Equal(t, test.want, b.kyma(t).Status.WaitsForChange)
		})
	}
}

func accessMissing() fault.Fault {
	return fault.Fault{Kind: fault.Unreachable, Reason: clusters.ReasonAccessSecretNotFound, Message: "access secret not found"}
}

func TestAReadyKymaNamesModulesWithoutAFutureWindow(t *testing.T) {
	const problem = "the maintenance policy cannot be used: no JSON"
	vain := &planning.Wait{Problem: problem}
	for name, test := range map[string]struct {
		modules, mandatory []planning.ModulePlan
		want               string
	}{
		"nothing waits":                                   {modules: []planning.ModulePlan{{Name: "keda"}}},
		"one waits for a future window":                   {modules: []planning.ModulePlan{{Name: "keda", Window: &planning.Wait{Next: time.Unix(1, 0)}}}},
		"one waits in vain":                               {modules: []planning.ModulePlan{{Name: "keda", Window: vain}, {Name: "serverless"}}, want: "not updated: keda; " + problem},
		"several wait in vain, including a mandatory one": {modules: []planning.ModulePlan{{Name: "keda", Window: vain}}, mandatory: []planning.ModulePlan{{Name: "connectivity", Window: vain}}, want: "not updated: connectivity, keda; " + problem},
	} {
		t.Run(name, func(t *testing.T) {
			o := observation{view: resolve.View{Plans: planning.Plans{Modules: test.modules, Mandatory: test.mandatory}}}
			require.Equal(t, operationText{shared.OperationKymaReady, test.want}, operation(v1beta2.KymaStatus{State: shared.StateReady}, o, false))
		})
	}
}
