package planning_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/agent"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/planning"
	"github.com/kyma-project/lifecycle-manager/internal/model/versions"
)

func TestTheAgentIsPlannedBesideTheModules(t *testing.T) {
	kyma := &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Namespace: "kcp-system", Name: "one", UID: "1"}}
	spec := agent.Spec{Image: "agent:1", Listener: "listener:443", Authorities: "PEM"}
	planned := func(settings desired.Settings, agent planning.Agent, existing ...v1beta2.Manifest) *planning.ModulePlan {
		plans := planning.Plan(planning.Request{Kyma: kyma, Settings: settings, Wanted: desired.Wanted{Complete: true}, Manifests: existing, Agent: agent})
		require.Empty(t, plans.Unwanted)
		require.Empty(t, plans.NotMandatory)
		for i := range plans.Mandatory {
			if plans.Mandatory[i].IsAgent() {
				return &plans.Mandatory[i]
			}
		}
		return nil
	}
	remote, local := desired.Settings{}, desired.Settings{Mode: desired.ModeSingleCluster}

	require.Nil(t, planned(remote, planning.Agent{}), "no agent without events")
	require.Nil(t, planned(local, planning.Agent{Spec: &spec}), "there is no remote cluster")
	created := planned(remote, planning.Agent{Spec: &spec})
	require.Equal(t, planning.ActionCreate, created.Action)
	existing := *created.Manifest
	require.Equal(t, planning.ActionKeep, planned(remote, planning.Agent{Spec: &spec}, existing).Action)

	earlier := func(m v1beta2.Manifest) planning.ModulePlan {
		plans := planning.Plan(planning.Request{
			Kyma: kyma, Wanted: desired.Wanted{Complete: true}, Foreign: []v1beta2.Manifest{m}, Agent: planning.Agent{Spec: &spec},
		})
		require.Len(t, plans.Mandatory, 1)
		return plans.Mandatory[0]
	}
	left := existing
	require.Equal(t, planning.ActionWait, earlier(left).Action, "the plan waits for the agent of an earlier Kyma")
	left.OwnerReferences, left.Status.Inventory = nil, []v1beta2.InventoryEntry{{ID: "one"}}
	require.Equal(t, planning.ActionCreate, earlier(left).Action)
	require.NotNil(t, earlier(left).Orphan, "the orphaned agent of an earlier Kyma makes room")

	other := spec
	other.Image = "agent:2"
	updated := planned(remote, planning.Agent{Spec: &other}, existing)
	require.Equal(t, planning.ActionUpdate, updated.Action)
	require.Equal(t, "2", updated.Manifest.Spec.Version)

	unknown := planned(remote, planning.Agent{Refusal: versions.Refuse("GatewayNotFound", "there is no Gateway")}, existing)
	require.Equal(t, planning.ActionKeep, unknown.Action, "an unknown spec removes nothing")
	require.NotNil(t, unknown.Refusal)
	require.Equal(t, planning.ActionNone, planned(remote, planning.Agent{Refusal: unknown.Refusal}).Action)

	require.Equal(t, planning.ActionRemove, planned(remote, planning.Agent{}, existing).Action, "events were switched off")
	require.Equal(t, planning.ActionKeep, planned(local, planning.Agent{}, existing).Action, "switching the synchronization off removes nothing")
	going := existing
	now := metav1.Now()
	going.DeletionTimestamp = &now
	require.Equal(t, planning.ActionWait, planned(remote, planning.Agent{Spec: &spec}, going).Action)
}
