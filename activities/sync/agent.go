package sync

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/events/agents"
	"github.com/kyma-project/lifecycle-manager/internal/events/certificates"
	"github.com/kyma-project/lifecycle-manager/internal/model/agent"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

const (
	// ReasonAgent: the certificate of the agent could not be brought to the remote cluster.
	ReasonAgent = "AgentNotSynchronized"
	// ReasonNoRuntimeID: the Kyma does not say the runtime id, by which the events of its cluster are told from others'.
	ReasonNoRuntimeID = "RuntimeIDMissing"
	// AgentDiffers is what Probe says of a cluster where somebody has changed or removed the certificate of the agent.
	AgentDiffers = "certificate of the agent in the remote cluster differs"
)

// ensureAgent brings the certificate of the agent to the remote cluster; all else of the agent is in its RemoteAgent. Where
// remote clusters send no events, what an agent left is removed.
func (a *Activities) ensureAgent(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r *session) error {
	if !a.Settings.Watching.Enabled() {
		return a.removeAgent(ctx, kyma, s, r)
	}
	request, err := a.certificateOf(kyma, s)
	if err != nil {
		return err
	}
	issued, err := a.Certificates.Ensure(ctx, request)
	if err != nil {
		return err
	}
	wrote, err := agents.EnsureCertificate(ctx, r, agents.Secret{
		Namespace: s.Namespace, Annotations: remoteMarks(kyma),
		Certificate: issued.Certificate, PrivateKey: issued.PrivateKey, Authorities: issued.Authorities, Version: issued.Version,
		Restart: a.Settings.Watching.RestartOnRenewal,
	})
	r.Writes += wrote
	return err
}

// probeAgent tells whether somebody has changed or removed the certificate of the agent in the remote cluster, and putting it
// right is worth another synchronization. It reads metadata alone, and nothing where there is no certificate to bring.
func (a *Activities) probeAgent(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r client.Reader, awaited bool) (bool, error) {
	watching := a.Settings.Watching
	if !watching.Enabled() || kyma.Labels[shared.LabelRuntimeID] == "" {
		return false, nil
	}
	issued, err := a.Known.AgentCertificate(ctx, watching.IstioNamespace, kyma.Name, certificates.AnnotationRenewal, a.reverts.clock())
	if err != nil || issued.UID == "" {
		return false, err
	}
	found, err := agents.Metadata(ctx, r, s.Namespace)
	if err != nil {
		return false, err
	}
	if !agents.IsLost(found, remoteMarks(kyma)) {
		a.reverts.reset(kyma, AgentDiffers)
		return false, nil
	}
	return awaited || a.reverts.isWorthSync(kyma, AgentDiffers, found, "", desired.DigestOf(issued)), nil
}

// agentReason is why ensureAgent fails where nothing else is known.
func (a *Activities) agentReason() string {
	if a.Settings.Watching.Enabled() {
		return ReasonAgent
	}
	return ReasonUpstreamsAgent
}

// certificateOf is the certificate that the agent of a Kyma needs.
func (a *Activities) certificateOf(kyma *v1beta2.Kyma, s desired.Sync) (certificates.Request, error) {
	id := kyma.Labels[shared.LabelRuntimeID]
	if id == "" {
		return certificates.Request{}, fault.New(fault.Rejected, ReasonNoRuntimeID,
			"the Kyma has no label %s, by which the events of its cluster are recognized", shared.LabelRuntimeID)
	}
	return certificates.Request{
		Namespace: kyma.Namespace, Kyma: kyma.Name, CommonName: id, Revoked: kyma.Annotations[shared.AnnotationRevokedCertificates],
		DNSNames: agent.DNSNames(shared.AgentName, s.Namespace, kyma.Annotations[shared.AnnotationSKRDomain], a.Settings.Watching.DNSNames),
	}, nil
}
