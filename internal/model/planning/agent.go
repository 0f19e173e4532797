package planning

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/agent"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/planned"
	"github.com/kyma-project/lifecycle-manager/internal/model/versions"
)

// Agent is the desired state of the agent in the remote cluster of a Kyma.
type Agent struct {
	// Spec is nil if the cluster should have no agent, or if Refusal says why the spec is not known.
	Spec    *agent.Spec
	Refusal *versions.Refusal
}

// IsAgent reports whether the plan is for the agent.
func (p *ModulePlan) IsAgent() bool { return p.Component == shared.AgentComponent }

// SplitAgents separates the Manifests of agents from the Manifests of modules.
func SplitAgents(manifests []v1beta2.Manifest) (modules []v1beta2.Manifest, of []*v1beta2.Manifest) {
	for i := range manifests {
		if desired.IsAgent(&manifests[i]) {
			of = append(of, &manifests[i])
		} else {
			modules = append(modules, manifests[i])
		}
	}
	return modules, of
}

// planAgent plans the Manifest of the agent like the Manifest of a mandatory module. The agent is removed if remote
// clusters should no longer have one. It is never removed because its spec is unknown.
func planAgent(r Request, sync desired.Sync, existing []*v1beta2.Manifest) (ModulePlan, bool) {
	plan := ModulePlan{
		Name: shared.AgentName, Module: v1beta2.Module{Name: shared.AgentName}, Component: shared.AgentComponent, Mandatory: true, Action: ActionNone,
		Refusal: r.Agent.Refusal,
	}
	name := shared.RemoteAgentName(r.Kyma.Name)
	for _, manifest := range existing {
		if manifest.Name == name {
			plan.Existing, plan.Version = manifest, manifest.Spec.Version
		}
	}
	if plan.Existing == nil {
		if at := slices.IndexFunc(r.Foreign, func(m v1beta2.Manifest) bool { return m.Name == name }); at >= 0 {
			plan.Orphan = &r.Foreign[at]
		}
	}
	wanted := sync.Enabled && r.Agent.Spec != nil && len(r.Kyma.Name) <= validation.LabelValueMaxLength
	switch {
	case plan.Existing == nil && !wanted:
		return plan, plan.Refusal != nil
	case plan.Existing != nil && !plan.Existing.DeletionTimestamp.IsZero():
		plan.Action = ActionWait
		return plan, true
	case plan.Orphan != nil && (!desired.IsOrphan(plan.Orphan) || !plan.Orphan.DeletionTimestamp.IsZero()):
		// The agent of an earlier Kyma of this name is still being deleted. An orphaned agent is released at once: the
		// new Kyma finds the agent's objects by their ownership annotation.
		plan.Action, plan.Orphan = ActionWait, nil
		return plan, true
	case plan.Refusal != nil || plan.Existing != nil && plan.Existing.IsSkipReconciliation():
		plan.Action = ActionKeep
		return plan, true
	case !sync.Enabled:
		// Switching synchronization off is not a request to remove anything.
		plan.Action = ActionKeep
		return plan, true
	case !wanted:
		plan.Action = ActionRemove
		return plan, true
	}
	manifest := agent.NewManifest(r.Kyma, OwnerReference(r.Kyma), r.Settings.WithDefaults(), sync, *r.Agent.Spec)
	if plan.Existing != nil {
		// An installed agent stays in its namespace when the Kyma's remote namespace changes.
		if namespace := plan.Existing.Annotations[desired.AnnotationRemoteNamespace]; namespace != "" && namespace != sync.Namespace {
			at := sync
			at.Namespace = namespace
			manifest = agent.NewManifest(r.Kyma, OwnerReference(r.Kyma), r.Settings.WithDefaults(), at, *r.Agent.Spec)
		}
	}
	plan.Version, plan.Destination = manifest.Spec.Version, destinationOf(manifest)
	plan.Record = new(planned.Record(manifest, true)) // the agent has no descriptor that could be signed
	switch {
	case plan.Existing == nil:
		plan.Action, plan.Manifest = ActionCreate, manifest
	case Differs(plan.Existing, manifest):
		plan.Action, plan.Manifest = ActionUpdate, manifest
	default:
		plan.Action = ActionKeep
	}
	return plan, true
}
