package manifests

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
)

// bound returns an error if the cluster is not the one that the Manifest's Kyma is recorded to be synchronized to. An
// access Secret may by mistake lead to the cluster of another Kyma, where the same module's objects have the same
// names. During a removal, it may lead to a cluster without these objects, as if everything had been removed. It must
// not lead to the control plane itself either, unless that is allowed.
//
// If nothing is recorded, there is nothing to compare with. If the cluster differs, bound reads the record once more,
// live: the cache may be behind, and another worker may have seen that the cluster was replaced.
func (a *Steps) bound(ctx context.Context, m *v1beta2.Manifest, cluster *clusters.Cluster) error {
	if err := a.asRecorded(ctx, m, cluster); err != nil {
		return err
	}
	if !m.DeletionTimestamp.IsZero() || a.Options.Settings.LocalClientAllowed() {
		// Objects that were installed while this was allowed can still be removed.
		return nil
	}
	return a.notControlPlane(ctx, m, cluster)
}

func (a *Steps) asRecorded(ctx context.Context, m *v1beta2.Manifest, cluster *clusters.Cluster) error {
	deleting := !m.DeletionTimestamp.IsZero()
	name := m.Namespace + "/" + m.KymaName()
	recorded, err := recordedCluster(ctx, a.Options.Fleet, m)
	if err != nil {
		return err
	}
	if recorded != "" {
		at, err := cluster.UID(ctx)
		if err != nil {
			return Unidentified(m, err)
		}
		if clusters.Changed(name, recorded, at, deleting) == nil {
			return nil
		}
	}
	if recorded, err = recordedCluster(ctx, a.Options.ControlPlane, m); err != nil || recorded == "" {
		return err
	}
	at, err := cluster.Identify(ctx)
	if err != nil {
		return Unidentified(m, err)
	}
	return clusters.Changed(name, recorded, at, deleting)
}

// notControlPlane returns an error if an access Secret leads to the control plane's own cluster.
func (a *Steps) notControlPlane(ctx context.Context, m *v1beta2.Manifest, cluster *clusters.Cluster) error {
	own, err := a.Options.Clusters.ControlPlane().UID(ctx)
	if err != nil {
		return fmt.Errorf("identify the control plane: %w", err)
	}
	at, err := cluster.UID(ctx)
	if err != nil {
		return Unidentified(m, err)
	}
	if at == own {
		return clusters.IsControlPlane(m.Namespace + "/" + m.KymaName())
	}
	return nil
}

// Unidentified returns the error for a Manifest's cluster that could not be identified.
func Unidentified(m *v1beta2.Manifest, err error) error {
	return clusters.Classify(fmt.Errorf("identify the cluster of Manifest %s/%s: %w", m.Namespace, m.Name, err))
}

// recordedCluster returns the uid of the cluster that a Manifest's Kyma is recorded to be synchronized to; empty if
// none is recorded.
func recordedCluster(ctx context.Context, reader client.Reader, m *v1beta2.Manifest) (string, error) {
	ref := KymaRefOf(m)
	kyma := &v1beta2.Kyma{}
	err := reader.Get(ctx, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, kyma)
	if err != nil {
		return "", client.IgnoreNotFound(fmt.Errorf("read Kyma %s/%s, to which Manifest %s belongs: %w", ref.Namespace, ref.Name, m.Name, err))
	}
	if ref.UID != "" && kyma.UID != ref.UID || kyma.Status.Remote == nil {
		return "", nil
	}
	return kyma.Status.Remote.Cluster, nil
}
