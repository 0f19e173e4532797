package resolve

import (
	"context"

	"github.com/kyma-project/lifecycle-manager/activities/agents"
	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/activities/resolve/planning"
	"github.com/kyma-project/lifecycle-manager/activities/resolve/versions"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// agent is what the agent of a Kyma is to be, with what stands for that among the Kyma's inputs, and the version of its
// certificate. Why it is not known is for people, and keeps what is installed.
func (p *Planner) agent(ctx context.Context, kyma *v1beta2.Kyma, sync desired.Sync) (planning.Agent, string, []desired.SecretVersion, error) {
	if p.agents == nil || !sync.Enabled {
		return planning.Agent{}, "", nil, nil
	}
	certificate, err := p.agents.Certificate(ctx, kyma)
	if err != nil {
		return planning.Agent{}, "", nil, err
	}
	secrets := []desired.SecretVersion{certificate}
	wish, err := p.agents.Wish(ctx)
	if err == nil {
		return planning.Agent{Wish: &wish}, wish.Version(), secrets, nil
	}
	f := fault.Of(err)
	if f.Kind != fault.Rejected && f.Kind != fault.Pending {
		return planning.Agent{}, "", nil, err
	}
	refusal := versions.Refuse(f.Reason, "%s", f.Message)
	refusal.Hint = f.Hint
	return planning.Agent{Refusal: refusal}, agents.Unknown(f.Reason), secrets, nil
}

// withoutAgents are the Manifests of a Kyma under deletion that go now. The agent goes after all modules, and its certificate
// before it (docs/contract.md#removal): while modules are removed, what happens in their cluster is still reported.
func (a *Activities) withoutAgents(ctx context.Context, kyma *v1beta2.Kyma, all []v1beta2.Manifest) ([]v1beta2.Manifest, error) {
	var modules, own []v1beta2.Manifest
	for i := range all {
		if desired.IsAgent(&all[i]) {
			own = append(own, all[i])
		} else {
			modules = append(modules, all[i])
		}
	}
	if len(own) == 0 || len(modules) > 0 {
		return modules, nil
	}
	if a.certificates != nil {
		if err := a.certificates.Remove(ctx, kyma); err != nil {
			return nil, err
		}
	}
	return own, nil
}
