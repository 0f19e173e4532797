package sync

import (
	"cmp"
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/events/agents"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
)

// ReasonUpstreamsAgent: what upstream's agent has in the remote cluster, or ours had, could not be removed.
const ReasonUpstreamsAgent = "UpstreamAgentNotRemoved"

// EventCertificateLeft: the certificate of upstream's agent stays in the control plane, as we may not delete it. It is on
// the Kyma.
const EventCertificateLeft = "UpstreamCertificateLeft"

// removeAgent removes the agent, upstream's or ours, where it was set up for a Kyma. That this release may not delete its certificate
// in the control plane keeps nothing else from being done: somebody is told of it.
func (a *Activities) removeAgent(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r *session) error {
	if !agents.IsLeft(kyma) {
		return nil
	}
	if !r.Own {
		deleted, err := agents.RemoveRemote(ctx, r, s.Namespace)
		r.Writes += deleted
		if err != nil {
			return err
		}
	}
	namespace := cmp.Or(a.Settings.Watching.IstioNamespace, shared.NamespaceIstio)
	err := agents.RemoveCertificate(ctx, a.ControlPlane, namespace, client.ObjectKeyFromObject(kyma))
	if apierrors.IsForbidden(err) {
		if a.Events != nil {
			hint.Record(a.Events, kyma, corev1.EventTypeWarning, EventCertificateLeft,
				"the certificate of upstream's agent stays in the control plane: "+fault.Message(err.Error()), hint.For(EventCertificateLeft))
		}
		return nil
	}
	return err
}
