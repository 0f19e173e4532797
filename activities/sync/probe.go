package sync

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/catalog"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/remote"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/modules/pullsecret"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// What Probe says of a cluster that lacks what a change in the control plane has yet to bring there.
const (
	CatalogDiffers    = "remote catalog differs"
	PullSecretDiffers = "image pull Secret of the remote cluster differs"
)

// Probe tells whether the remote cluster of a Kyma differs from what the last synchronization left there,
// and why: a remote Kyma that is gone, edited or shows another status, a catalog that is not as wanted, an image
// pull Secret that is not as wanted, a certificate of the agent that somebody changed, or a user-provided template that was
// changed. It makes three reads, one more for the image pull Secret where one is configured, one more for the agent where
// remote clusters send events, and one more for each such template outside of the remote namespace, and no write. Awaited says that a change in the control plane has yet to be brought there, when the
// Kyma's turn comes: what is missing then was not undone. The Kyma may come from a cache; it is not changed.
func (a *Activities) Probe(ctx context.Context, kyma *v1beta2.Kyma, awaited bool) (changed bool, why string, err error) {
	s := desired.SyncOf(kyma, a.Settings)
	if !s.Enabled {
		return false, "", nil
	}
	r, err := a.reach(ctx, kyma, s, a.Clusters.Reach)
	if err != nil {
		return false, "", err
	}
	if !desired.IsAccepted(kyma) {
		// A cluster that does not answer is not worth another try.
		_, err := r.identify(ctx)
		return err == nil, "never synchronized", clusters.Classify(err)
	}
	changed, why, err = a.probe(ctx, kyma, s, r, awaited)
	return changed, why, clusters.Classify(err)
}

func (a *Activities) probe(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r *session, awaited bool) (bool, string, error) {
	found := &v1beta2.Kyma{}
	err := r.Get(ctx, types.NamespacedName{Namespace: s.Namespace, Name: s.Name}, found)
	if apierrors.IsNotFound(err) || remote.KindMissing(err) {
		return true, "remote Kyma is gone", nil
	}
	if err != nil {
		return false, "", fmt.Errorf("read remote Kyma %s/%s: %w", s.Namespace, s.Name, err)
	}
	if why := differs(kyma, found); why != "" {
		return true, why, nil
	}
	const labels = "labels of the remote Kyma were changed"
	switch {
	case remote.HasLabels(found.Labels, restoredLabels(kyma)) && remote.HasLabels(found.Annotations, remoteMarks(kyma)):
		a.reverts.reset(kyma, labels)
	case a.reverts.isWorthSync(kyma, labels, found, "", desired.DigestOf(restoredLabels(kyma), remoteMarks(kyma))):
		return true, labels, nil
	}
	const shown = "status of the remote Kyma is not ours"
	status := desired.RemoteStatus(kyma)
	switch {
	case equality.Semantic.DeepEqual(found.Status, status):
		a.reverts.reset(kyma, shown)
	case a.reverts.isWorthSync(kyma, shown, found, "status", desired.DigestOf(status)):
		return true, shown, nil
	}
	control, err := a.identity.get(ctx)
	if err != nil {
		return false, "", err
	}
	own := kyma.Status.Remote.Cluster == string(control)
	var there catalog.Lists
	if s.Catalog {
		wanted, err := a.catalogs.Wanted(ctx, kyma, s, own)
		if err != nil {
			return false, "", err
		}
		if there, err = catalog.Read(ctx, r, s.Namespace); err != nil {
			return false, "", err
		}
		diff := catalog.Diff(wanted, there, catalog.Owner{Mark: desired.SyncedFrom(kyma), Own: own})
		switch {
		case diff.IsEmpty():
			a.reverts.reset(kyma, CatalogDiffers)
		case awaited || a.reverts.isWorthSync(kyma, CatalogDiffers, diff.First(there), "", diff.Digest()):
			return true, CatalogDiffers, nil
		}
	}
	if changed, err := a.probePullSecret(ctx, kyma, s, r, own, awaited); err != nil || changed {
		return changed, PullSecretDiffers, err
	}
	if changed, err := a.probeAgent(ctx, kyma, s, r, awaited); err != nil || changed {
		return changed, AgentDiffers, err
	}
	if own {
		return false, "", nil
	}
	return a.imports.Changed(ctx, kyma, s, r.Cluster, there)
}

// differs says what of a remote Kyma is not as it was left, but for what we write into it.
func differs(kyma, found *v1beta2.Kyma) string {
	accepted := kyma.Status.Remote
	switch {
	case string(found.UID) != accepted.UID:
		return "remote Kyma was created again"
	case !found.DeletionTimestamp.IsZero():
		return "remote Kyma is being deleted"
	case found.Generation != accepted.ObservedGeneration, deferralOf(found) != accepted.DeferUpgradesUntil:
		return "remote Kyma was edited"
	}
	return ""
}

// probePullSecret tells whether the copy of the image pull Secret is not as wanted, and this is worth another
// synchronization. While the original cannot be read, nothing can be said.
func (a *Activities) probePullSecret(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r client.Reader, own, awaited bool) (bool, error) {
	if a.Settings.ImagePullSecret == "" || a.pullSecretIsThere(s, own) {
		return false, nil
	}
	wanted, err := a.PullSecret.Content(ctx)
	if fault.Of(err).Reason == pullsecret.ReasonNotFound {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	key := types.NamespacedName{Namespace: s.Namespace, Name: a.Settings.ImagePullSecret}
	found := &corev1.Secret{}
	err = r.Get(ctx, key, found)
	switch {
	case apierrors.IsNotFound(err):
		found.Namespace, found.Name = key.Namespace, key.Name
	case err != nil:
		return false, fmt.Errorf("read image pull Secret %s: %w", key, err)
	case !desired.IsSyncedCopy(found) || pullsecret.Digest(found) == wanted:
		a.reverts.reset(kyma, PullSecretDiffers)
		return false, nil
	}
	// The digest stays in memory.
	return awaited || a.reverts.isWorthSync(kyma, PullSecretDiffers, found, "", wanted), nil
}
