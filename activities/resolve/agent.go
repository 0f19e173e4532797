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
