package sync

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// What Probe says of a cluster that lacks what a change in the control plane has yet to bring there.
const (
	CatalogDiffers    = "remote catalog differs"
	PullSecretDiffers = "image pull Secret of the remote cluster differs"
)

// Probe tells whether the remote cluster of a Kyma differs from what the last synchronization left there,
// and why: a remote Kyma that is gone, edited or shows another status, a catalog that is not as wanted, an image
// pull Secret that is not as wanted, or a template made by hand that was changed. It makes three reads, one more for
// the image pull Secret where one is configured, and one more for each such template outside of the
// remote namespace, and no write. Awaited says that a change in the control plane has yet to be brought there, when the
// Kyma's turn comes: what is missing then was not undone. The Kyma may come from a cache; it is not changed.
func (a *Activities) Probe(ctx context.Context, kyma *v1beta2.Kyma, awaited bool) (changed bool, why string, err error) {
	s := desired.SyncOf(kyma, a.settings)
	if !s.Enabled {
		return false, "", nil
	}
	r, err := a.reach(ctx, kyma, s, a.clusters.Reach)
	if err != nil {
		return false, "", err
	}
	if !desired.TakenIn(kyma) {
		// A cluster that does not answer is not worth another try.
		_, err := r.identify(ctx)
		return err == nil, "never synchronized", clusters.Classify(err)
	}
	changed, why, err = a.probe(ctx, kyma, s, r, awaited)
	return changed, why, clusters.Classify(err)
}

func (a *Activities) probe(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r *remote, awaited bool) (bool, string, error) {
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
	const labels = "labels of the remote Kyma were changed"
	switch {
	case hasLabels(found.Labels, restoredLabels(kyma)) && hasLabels(found.Annotations, remoteMarks(kyma)):
		a.undone.right(kyma, labels)
	case a.undone.worth(kyma, labels, found, "", desired.DigestOf(restoredLabels(kyma), remoteMarks(kyma))):
		return true, labels, nil
	}
	const shown = "status of the remote Kyma is not ours"
	status := desired.RemoteStatus(kyma)
	switch {
	case equality.Semantic.DeepEqual(found.Status, status):
		a.undone.right(kyma, shown)
	case a.undone.worth(kyma, shown, found, "status", desired.DigestOf(status)):
		return true, shown, nil
	}
	control, err := a.identity.get(ctx)
	if err != nil {
		return false, "", err
	}
	own := kyma.Status.Remote.Cluster == string(control)
	var there catalogLists
	if s.Catalog {
		wanted, err := a.wantedCatalog(ctx, kyma, s, own)
		if err != nil {
			return false, "", err
		}
		if there, err = readCatalog(ctx, r, s.Namespace); err != nil {
			return false, "", err
		}
		diff := diffCatalog(wanted, there, owner{mark: desired.SyncedFrom(kyma), own: own})
		switch {
		case diff.empty():
			a.undone.right(kyma, CatalogDiffers)
		case awaited || a.undone.worth(kyma, CatalogDiffers, diff.first(there), "", diff.digest()):
			return true, CatalogDiffers, nil
		}
	}
	if changed, err := a.probePullSecret(ctx, kyma, s, r, own, awaited); err != nil || changed {
		return changed, PullSecretDiffers, err
	}
	if own {
		return false, "", nil
	}
	return a.probeTemplates(ctx, kyma, s, r, there)
}

// probeTemplates tells whether a template made by hand differs from its copy, by metadata: without a request for
// those in the remote namespace where the catalog was listed. One that has no copy, for it is refused or not yet
// taken in, differs once in each of its versions.
func (a *Activities) probeTemplates(ctx context.Context, kyma *v1beta2.Kyma, s desired.Sync, r *remote, listed catalogLists) (bool, string, error) {
	asked, err := a.askedTemplates(ctx, s, desired.WantedBy(kyma, s), &takenTemplates{})
	if err != nil || len(asked) == 0 {
		return false, "", err
	}
	copies, err := a.copiesOf(ctx, kyma)
	if err != nil {
		return false, "", err
	}
	for _, ask := range asked[:min(len(asked), maxRemoteTemplates)] {
		name := desired.TakenInName(kyma, ask.place.Namespace, ask.place.Name)
		existing := copies[name]
		found, err := findTemplate(ctx, r, s, listed, ask.place)
		gone := errors.Is(err, errNotThere)
		switch {
		case gone && existing == nil:
		case gone:
			return true, "template " + ask.place.String() + " of the remote cluster is gone", nil
		case err != nil:
			return false, "", err
		case existing != nil && !a.takenInAs(kyma, existing, found),
			existing == nil && a.noticed.once(name, a.takenVersion(found)):
			return true, "template " + ask.place.String() + " of the remote cluster was changed", nil
		}
	}
	return false, "", nil
}

// differs says what of a remote Kyma is not as it was left, but for what we write into it.
func differs(kyma, found *v1beta2.Kyma) string {
	accepted := kyma.Status.Remote
	switch {
	case string(found.UID) != accepted.UID:
		return "remote Kyma was made anew"
	case !found.DeletionTimestamp.IsZero():
		return "remote Kyma is being deleted"
	case found.Generation != accepted.ObservedGeneration:
		return "remote Kyma was edited"
	}
	return ""
}
