package e2e

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/test/harness/process"
)

// A script empties the lists of five Kymas, and deletes one of them: no more lose their module than the budget allows, until
// somebody approves that.
func TestRemovalsInBulkAreHeldUntilSomebodyApproves(t *testing.T) {
	const webhook, certificate = "e2e-budget-webhook", "e2e-budget-webhook-tls"
	const fleet, allowed = 5, 2
	metrics := process.FreeAddress(t)
	s := harness.NewEnvironment(t, append(webhookFlags(t, webhook, certificate), "--metrics-bind-address", metrics,
		"--removal-budget-min", fmt.Sprint(allowed), "--removal-budget-percent", "1", "--module-upgrade-rollout-max-delay", "5m")...)
	removeWebhook(s, webhook, certificate)
	s.PushMinimal("bulk")
	s.Instance.Start()
	var names []string
	for i := range fleet {
		names = append(names, fmt.Sprintf("bulk-%d", i))
		s.Create(harness.NewSynced(names[i], "bulk"))
	}
	for _, name := range names {
		s.BecomesReady(name, "bulk@1.0.0")
	}
	s.Eventually("whoever edits a ModuleReleaseMeta reads over how long the change is spread", time.Minute, func(c *assert.CollectT) {
		out, err := exec.CommandContext(t.Context(), s.Fleet.Kubectl, "--kubeconfig", s.ControlPlane.Kubeconfig, "-n", harness.ControlPlaneNamespace, //nolint:gosec // of the fleet
			"patch", "modulereleasemeta", "bulk", "--dry-run=server", "--type=json",
			"-p", `[{"op":"replace","path":"/spec/channels/0/version","value":"1.1.0"}]`).CombinedOutput()
		require.NoError(c, err, string(out))
		assert.Contains(c, string(out), "Warning: moves 5 Kymas from bulk 1.0.0 to 1.1.0 on channel regular, spread over 5m")
	})
	budget := &v1beta2.RemovalBudget{ObjectMeta: metav1.ObjectMeta{Namespace: harness.ControlPlaneNamespace, Name: shared.ManagedByLifecycleManager}}
	// show waits until so many Kymas have their module, all of them with the reason why it stays, and the budget says so.
	show := func(have int) {
		t.Helper()
		s.Eventually(fmt.Sprintf("%d Kymas keep the module", have), 2*time.Minute, func(c *assert.CollectT) {
			require.NoError(c, s.ControlPlane.Get(t.Context(), client.ObjectKeyFromObject(budget), budget))
			assert.EqualValues(c, have, budget.Status.Held)
			assert.EqualValues(c, fleet-have, budget.Status.Used)
			assert.Len(c, fleetManifests(t, s), have)
			series, err := process.Series(metrics, "lifecycle_mgr_removals_held")
			require.NoError(c, err)
			told := ""
			for labels, value := range series {
				if strings.Contains(labels, `kind="RemovalBudget"`) {
					told = value
				}
			}
			assert.Equal(c, have > 0, told == "1", "the metric: %v", series)
		})
	}
	approve := func(clusters int32) {
		t.Helper()
		harness.EditObject(t, s.ControlPlane, budget, func() {
			budget.Spec.Approvals = append(budget.Spec.Approvals, v1beta2.RemovalApproval{Clusters: clusters, Reason: fmt.Sprint("approval ", len(budget.Spec.Approvals))})
		})
	}

	for _, name := range names {
		harness.Edit(t, s.ControlPlane, s.Kyma(name), func(k *v1beta2.Kyma) { k.Spec.Modules = nil })
	}
	show(fleet - allowed)
	assert.Contains(t, s.Warnings(budget), "RemovalHeld")
	held := ""
	s.Eventually("those that wait say why, and the others have no module any more", time.Minute, func(c *assert.CollectT) {
		waiting := 0
		for _, name := range names {
			kyma := s.Kyma(name)
			if kyma.Status.RemovalHeldSince == nil {
				assert.Empty(c, kyma.Status.Modules, name)
				continue
			}
			held = name
			waiting++
			require.Len(c, kyma.Status.Modules, 1, name)
			assert.Contains(c, kyma.Status.Modules[0].Message, "removal is held: 2 clusters lost modules within 1h", name)
			assert.Contains(c, s.Warnings(kyma), "RemovalHeld", name)
		}
		assert.Equal(c, fleet-allowed, waiting)
	})
	require.NoError(t, s.ControlPlane.Delete(t.Context(), s.Kyma(held)))
	s.Eventually("the deleted Kyma waits as well", time.Minute, func(c *assert.CollectT) {
		assert.Equal(c, shared.StateDeleting, s.Kyma(held).Status.State)
		assert.Contains(c, s.Kyma(held).Status.LastOperation.Operation, "removal is held")
	})
	show(fleet - allowed)
	approve(1)
	show(fleet - allowed - 1)
	approve(2)
	show(0)
	for _, name := range names {
		if name != held { // which goes by itself now
			s.RemoveKyma(name)
		}
	}
}
