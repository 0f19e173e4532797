package sync

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/remote"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// connect returns access to the Kyma's cluster and finds out which cluster it is. In the background, it does not read
// known access again, and it may recognize the cluster.
func (a *Activities) connect(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, background bool) (*session, error) {
	access := a.Clusters.ForKyma
	if background {
		access = a.Clusters.Reach
	}
	r, err := a.reach(ctx, kyma, s, access)
	if err != nil {
		return nil, err
	}
	identify := r.identify
	if background && r.isPrepared(kyma) {
		if err := r.recognize(ctx, kyma, s); err != nil {
			return nil, clusters.Classify(err)
		}
		if r.recognized != nil {
			identify = func(context.Context) (types.UID, error) { return types.UID(kyma.Status.Remote.Cluster), nil }
		}
	}
	if r.UID, err = identify(ctx); err != nil {
		return nil, clusters.Classify(fmt.Errorf("identify the cluster of Kyma %s: %w", desired.NameOf(kyma), err))
	}
	control, err := a.identity.get(ctx)
	if err != nil {
		return nil, err
	}
	r.Own = r.UID == control
	if r.Own && s.Strategy != v1beta2.SyncStrategyLocalClient && kyma.DeletionTimestamp.IsZero() && !a.Settings.LocalClientAllowed() {
		return nil, clusters.IsControlPlane(desired.NameOf(kyma))
	}
	if !kyma.DeletionTimestamp.IsZero() && desired.Placed(kyma) {
		// The objects to clean up are in the recorded cluster. Another cluster would seem clean already.
		if err := clusters.Changed(desired.NameOf(kyma), kyma.Status.Remote.Cluster, r.UID, true); err != nil {
			return nil, err
		}
	}
	if err := notOntoItself(kyma, s.Name, s.Namespace, r.Own); err != nil {
		return nil, err
	}
	return r, nil
}

// accessTo returns access to the cluster of a Kyma. It is Clusters.ForKyma or Clusters.Reach.
type accessTo func(ctx context.Context, namespace, kymaName string) (*clusters.Cluster, error)

// reach returns access without asking the cluster which one it is.
func (a *Activities) reach(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, to accessTo) (*session, error) {
	if kyma.DeletionTimestamp.IsZero() && s.LocalClientRefused(a.Settings) {
		return nil, fault.New(fault.Rejected, desired.ReasonControlPlaneTarget,
			"Kyma %s would be synchronized into the control plane itself by the strategy local-client, which is not allowed here", desired.NameOf(kyma))
	}
	if s.Strategy == v1beta2.SyncStrategyLocalClient {
		return &session{Cluster: &remote.Cluster{Client: a.ControlPlane}, identify: a.identity.get}, nil
	}
	access, err := to(ctx, kyma.Namespace, kyma.Name)
	if err != nil {
		return nil, err
	}
	return &session{Cluster: &remote.Cluster{Client: access.Client}, identify: access.Identify, access: access}, nil
}
