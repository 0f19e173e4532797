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

// These are Probe's reasons if a cluster lacks what a change in the control plane has yet to bring.
const (
	CatalogDiffers    = "remote catalog differs"
	PullSecretDiffers = "image pull Secret of the remote cluster differs"
)

// Probe reports whether the remote cluster of a Kyma differs from the result of its last synchronization, and why. It
// finds a remote Kyma that is gone, was edited or shows another status, a different catalog, a different image pull
// Secret, a changed certificate of the agent, and changed user-provided templates.
//
// Probe makes three reads. It makes one more for the image pull Secret if one is configured, one more for the agent if
// remote clusters send events, and one more for each user-provided template outside the remote namespace. It writes
// nothing.
//
// awaited is true if a change in the control plane will be brought to the cluster at the Kyma's turn. Missing objects
// then do not count as undone. The Kyma may come from a cache, because Probe does not change it.
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
		// If the cluster does not answer, another synchronization is useless.
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

// differs returns the reason if a remote Kyma differs from the last synchronization, except in the fields that we write.
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

// probePullSecret reports whether the copy of the image pull Secret differs and this is worth another synchronization. If
// the original cannot be found, it returns false.
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
