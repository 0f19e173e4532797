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

// ReasonUpstreamsAgent: upstream's agent, or ours, could not be removed from the remote cluster.
const ReasonUpstreamsAgent = "UpstreamAgentNotRemoved"

// EventCertificateLeft: the certificate of upstream's agent stays in the control plane, because we have no permission to
// delete it. The Event is on the Kyma.
const EventCertificateLeft = "UpstreamCertificateLeft"

// removeAgent removes the agent, upstream's or ours, if one was set up for the Kyma. If we have no permission to delete
// its certificate in the control plane, an Event says so, and everything else continues.
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
