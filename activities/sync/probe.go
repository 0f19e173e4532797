package sync

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Probe tells whether the remote cluster of a Kyma differs from what the last synchronization left there,
// and why: a remote Kyma that is gone, edited or shows another status, or a catalog that is not as wanted.
// It makes three reads and no write. The Kyma may come from a cache; it is not changed.
func (a *Activities) Probe(ctx context.Context, kyma *v1beta2.Kyma) (changed bool, why string, err error) {
	s := desired.SyncOf(kyma, a.settings)
	if !s.Enabled {
		return false, "", nil
	}
	if !desired.TakenIn(kyma) {
		return true, "never synchronized", nil
	}
	r, err := a.reach(ctx, kyma, s)
	if err != nil {
		return false, "", err
	}
	changed, why, err = a.probe(ctx, kyma, s, r)
	return changed, why, clusters.Classify(err)
}

func (a *Activities) probe(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r *remote) (bool, string, error) {
	found := &v1beta2.Kyma{}
	err := r.Get(ctx, types.NamespacedName{Namespace: s.Namespace, Name: s.Name}, found)
	if apierrors.IsNotFound(err) || kindMissing(err) {
		return true, "remote Kyma is gone", nil
	}
	if err != nil {
		return false, "", fmt.Errorf("read remote Kyma %s/%s: %w", s.Namespace, s.Name, err)
	}
	if why := differs(kyma, found); why != "" {
		return true, why, nil
	}
	if !s.Catalog {
		return false, "", nil
	}
	control, err := a.identity.get(ctx)
	if err != nil {
		return false, "", err
	}
	own := kyma.Status.Remote.Cluster == string(control)
	wanted, err := a.wantedCatalog(ctx, kyma, s, own)
	if err != nil {
		return false, "", err
	}
	there, err := readCatalog(ctx, r, s.Namespace)
	if err != nil {
		return false, "", err
	}
	if !diffCatalog(wanted, there, desired.SyncedFrom(kyma), own).empty() {
		return true, "remote catalog differs", nil
	}
	return false, "", nil
}

// differs says what of a remote Kyma is not as it was left.
func differs(kyma, found *v1beta2.Kyma) string {
	accepted := kyma.Status.Remote
	switch {
	case string(found.UID) != accepted.UID:
		return "remote Kyma was made anew"
	case !found.DeletionTimestamp.IsZero():
		return "remote Kyma is being deleted"
	case found.Generation != accepted.ObservedGeneration:
		return "remote Kyma was edited"
	case !hasLabels(found.Labels, restoredLabels(kyma)), !hasLabels(found.Annotations, remoteMarks(kyma)):
		return "labels of the remote Kyma were changed"
	case !equality.Semantic.DeepEqual(found.Status, desired.RemoteStatus(kyma)):
		return "status of the remote Kyma is not ours"
	}
	return ""
}
