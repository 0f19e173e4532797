package removal

import (
	"bytes"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// A cluster reports its own identity. A cluster that pretends to be another one could keep a removal from deleting
// objects that a Kyma in that cluster has as well. So before objects are handed over to other Kymas, we verify that
// these Kymas are really in the cluster.

// isIn reports whether another Kyma is really synchronized into a cluster: its access leads to the same address with
// the same CA, or its remote Kyma exists there with the recorded uid and that Kyma's mark.
func (a *Removals) isIn(ctx context.Context, cluster *clusters.Cluster, kyma *v1beta2.Kyma) (bool, error) {
	theirs, err := a.steps.Options.Clusters.Reach(ctx, kyma.Namespace, kyma.Name)
	if err == nil && sameAddress(theirs, cluster) {
		return true, nil
	}
	if err != nil && fault.Of(err).Kind == fault.Transient {
		return false, err
	}
	remote := kyma.Status.Remote
	found, err := readOwn(ctx, cluster, shared.KindKyma, types.NamespacedName{Namespace: remote.Namespace, Name: remote.Name})
	if err != nil || found == nil {
		return false, err
	}
	return string(found.UID) == remote.UID && found.Annotations[desired.AnnotationSyncedFrom] == desired.SyncedFrom(kyma), nil
}

// isOwn reports whether a cluster really is the control plane's own cluster, because the Manifest exists there.
func isOwn(ctx context.Context, cluster *clusters.Cluster, m *v1beta2.Manifest) (bool, error) {
	if cluster.IsControlPlane() {
		return true, nil
	}
	found, err := readOwn(ctx, cluster, shared.KindOfInstallation(m.Name), client.ObjectKeyFromObject(m))
	return found != nil && found.UID == m.UID, err
}

func sameAddress(a, b *clusters.Cluster) bool {
	if a == b {
		return true
	}
	return a.Config != nil && b.Config != nil && a.Config.Host == b.Config.Host && len(a.Config.CAData) > 0 && bytes.Equal(a.Config.CAData, b.Config.CAData)
}

// readOwn reads one of our objects in a cluster; nil if it does not exist.
func readOwn(ctx context.Context, cluster *clusters.Cluster, kind string, name types.NamespacedName) (*metav1.PartialObjectMetadata, error) {
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(v1beta2.GroupVersion.WithKind(kind))
	err := cluster.Client.Get(ctx, name, found)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil, nil //nolint:nilnil // a missing object is an ordinary case
	}
	if err != nil {
		return nil, clusters.Classify(fmt.Errorf("read %s %s: %w", kind, name, err))
	}
	return found, nil
}
