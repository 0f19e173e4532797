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

// Agent says what the agent in the remote cluster of a Kyma is to be.
type Agent struct {
	// Spec is nil if the cluster should have no agent, or if Refusal says why the spec is not known.
	Spec    *agent.Spec
	Refusal *versions.Refusal
}

// IsAgent tells whether a plan is that of the agent.
func (p *ModulePlan) IsAgent() bool { return p.Component == shared.AgentComponent }

// SplitAgents takes the Manifests of agents out of those of modules.
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

// planAgent plans the one Manifest of the agent as that of a mandatory module is planned. It is removed where remote clusters
// have no agent any more, and never because it is not known what it is to be.
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
		// The agent of an earlier Kyma of this name is still going away. One that was orphaned is released at once: the
		// agent's objects are found again by their mark.
		plan.Action, plan.Orphan = ActionWait, nil
		return plan, true
	case plan.Refusal != nil || plan.Existing != nil && plan.Existing.IsSkipReconciliation():
		plan.Action = ActionKeep
		return plan, true
	case !sync.Enabled:
		// Switching the synchronization off is no wish to remove anything.
		plan.Action = ActionKeep
		return plan, true
	case !wanted:
		plan.Action = ActionRemove
		return plan, true
	}
	manifest := agent.NewManifest(r.Kyma, OwnerReference(r.Kyma), r.Settings.WithDefaults(), sync, *r.Agent.Spec)
	if plan.Existing != nil {
		// What is installed is not moved when the Kyma's remote namespace changes.
		if namespace := plan.Existing.Annotations[desired.AnnotationRemoteNamespace]; namespace != "" && namespace != sync.Namespace {
			at := sync
			at.Namespace = namespace
			manifest = agent.NewManifest(r.Kyma, OwnerReference(r.Kyma), r.Settings.WithDefaults(), at, *r.Agent.Spec)
		}
	}
	plan.Version, plan.Destination = manifest.Spec.Version, destinationOf(manifest)
	plan.Record = new(planned.Record(manifest, true)) // it has no descriptor that could be signed
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
