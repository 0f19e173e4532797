package status

import (
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/model/planning"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// operationWaitingForAgent is the operation of a Kyma with ready modules and an agent that is not ready.
const operationWaitingForAgent = "waiting for the agent in the remote cluster"

// agentWaitsFor returns why the agent in the remote cluster is not ready. It returns nil if the agent is ready, or if
// there is none.
func (o observation) agentWaitsFor() *operationText {
	if !o.watching || !o.view.Sync.Enabled {
		return nil
	}
	if f := o.in.Faults[fault.PartAgent]; !f.IsZero() {
		return &operationText{operationWaitingForAgent + ": " + f.Message, hint.Or(f.Hint, f.Reason)}
	}
	plan := agentPlan(o.view.Mandatory)
	switch {
	case plan == nil:
		return &operationText{message: operationWaitingForAgent}
	case plan.Refusal != nil:
		return &operationText{operationWaitingForAgent + ": " + plan.Refusal.Message, hint.Or(plan.Refusal.Hint, plan.Refusal.Reason)}
	case plan.Existing == nil || plan.Action != planning.ActionKeep:
		return &operationText{message: operationWaitingForAgent}
	case plan.Existing.Status.KnownState() == shared.StateReady:
		return nil
	case plan.Existing.Status.LastOperation == nil || plan.Existing.Status.State == shared.StateUnknown:
		return &operationText{message: operationWaitingForAgent}
	}
	said := plan.Existing.Status.LastOperation
	return &operationText{operationWaitingForAgent + ": " + said.Operation, said.Hint}
}

// agentPlan returns the plan of the agent, or nil if none is planned.
func agentPlan(plans []planning.ModulePlan) *planning.ModulePlan {
	return lists.First(lists.Pointers(plans), func(each *planning.ModulePlan) bool { return each.IsAgent() })
}
