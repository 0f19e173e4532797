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
	// ReasonAgent: the certificate of the agent could not be written to the remote cluster.
	ReasonAgent = "AgentNotSynchronized"
	// ReasonNoRuntimeID: the Kyma has no runtime id, which identifies the events of its cluster.
	ReasonNoRuntimeID = "RuntimeIDMissing"
	// AgentDiffers is Probe's reason if somebody changed or removed the certificate of the agent in the remote cluster.
	AgentDiffers = "certificate of the agent in the remote cluster differs"
)

// ensureAgent writes the certificate of the agent to the remote cluster. The RemoteAgent contains everything else about
// the agent. If remote clusters send no events, ensureAgent removes what an earlier agent left.
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

// probeAgent reports whether somebody changed or removed the certificate of the agent in the remote cluster, and whether
// this is worth another synchronization. It reads only metadata, and reads nothing if no certificate has been issued.
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

// agentReason returns the default reason for failures of ensureAgent.
func (a *Activities) agentReason() string {
	if a.Settings.Watching.Enabled() {
		return ReasonAgent
	}
	return ReasonUpstreamsAgent
}

// certificateOf returns the request for the certificate of a Kyma's agent.
func (a *Activities) certificateOf(kyma *v1beta2.Kyma, s desired.Sync) (certificates.Request, error) {
	id := kyma.Labels[shared.LabelRuntimeID]
	if id == "" {
		return certificates.Request{}, fault.New(fault.Rejected, ReasonNoRuntimeID,
			"the Kyma has no label %s, which identifies the events of its cluster", shared.LabelRuntimeID)
	}
	return certificates.Request{
		Namespace: kyma.Namespace, Kyma: kyma.Name, CommonName: id, Revoked: kyma.Annotations[shared.AnnotationRevokedCertificates],
		DNSNames: agent.DNSNames(shared.AgentName, s.Namespace, kyma.Annotations[shared.AnnotationSKRDomain], a.Settings.Watching.DNSNames),
	}, nil
}
