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

// A cluster states its own identity: one that pretends to be another could keep removals there from deleting what a
// Kyma in it has as well. So what is handed over to others must be proven to be theirs.

// isIn tells whether another Kyma is really synchronized into a cluster: its access leads to the same address with the
// same authority, or its remote Kyma exists there, with its uid and the mark of that Kyma.
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

// isOwn tells whether a cluster really is the control plane's own: the Manifest exists there.
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

// readOwn reads an object of ours in a cluster; nil where it does not exist.
func readOwn(ctx context.Context, cluster *clusters.Cluster, kind string, name types.NamespacedName) (*metav1.PartialObjectMetadata, error) {
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(v1beta2.GroupVersion.WithKind(kind))
	err := cluster.Client.Get(ctx, name, found)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil, nil //nolint:nilnil // being gone is an ordinary case
	}
	if err != nil {
		return nil, clusters.Classify(fmt.Errorf("read %s %s: %w", kind, name, err))
	}
	return found, nil
}
