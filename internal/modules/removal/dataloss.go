package removal

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
)

// lossAllowed reports whether users' custom resources may be deleted with the module. The permission is an annotation
// of the Manifest, of the Kyma, or of the remote Kyma, because the data belongs to the remote cluster's owner.
func (a *Removals) lossAllowed(ctx context.Context, r *Remover, m *v1beta2.Manifest) (bool, error) {
	if m.Annotations[shared.AnnotationDeleteUserData] == shared.ValueTrue {
		return true, nil
	}
	ref := manifests.KymaRefOf(m)
	kyma := &v1beta2.Kyma{}
	err := a.steps.Options.ControlPlane.Get(ctx, ref.Key(), kyma)
	switch {
	case err != nil:
		return false, client.IgnoreNotFound(fmt.Errorf("read Kyma %s: %w", ref, err))
	case kyma.UID != ref.UID:
		return false, nil
	case namesModule(kyma, m):
		return true, nil
	case kyma.Status.Remote == nil || r.Cluster.IsControlPlane():
		return false, nil
	}
	at := types.NamespacedName{Namespace: kyma.Status.Remote.Namespace, Name: kyma.Status.Remote.Name}
	remote, err := r.Cluster.Metadata.Resource(v1beta2.GroupVersion.WithResource("kymas")).Namespace(at.Namespace).Get(ctx, at.Name, metav1.GetOptions{})
	if err != nil {
		return false, client.IgnoreNotFound(clusters.Classify(fmt.Errorf("read the remote Kyma %s: %w", at, err)))
	}
	return string(remote.UID) == kyma.Status.Remote.UID && namesModule(remote, m), nil
}

// namesModule reports whether a Kyma allows the deletion of users' data of this module.
func namesModule(kyma metav1.Object, m *v1beta2.Manifest) bool {
	for name := range strings.SplitSeq(kyma.GetAnnotations()[shared.AnnotationDeleteUserData], ",") {
		if name = strings.TrimSpace(name); name != "" && name == m.ModuleName() {
			return true
		}
	}
	return false
}

// deleteCRs deletes custom resources while the module's operator still runs and can remove their finalizers.
func (a *Removals) deleteCRs(ctx context.Context, r *Remover, m *v1beta2.Manifest, seen BlockingCRs) error {
	if seen.stays != nil {
		name := types.NamespacedName{Namespace: seen.stays.meta.Namespace, Name: seen.stays.meta.Name}
		if err := r.letStay(ctx, seen.stays.kind.WithVersion(""), name, inventory.CreatedByUs); err != nil {
			return clusters.Classify(err)
		}
	}
	crs := seen.toDelete()
	if len(crs) == 0 {
		return nil
	}
	if err := a.steps.Unchanged(ctx, m); err != nil {
		return err
	}
	if seen.allowed {
		recordDataDeleted(a.steps.Recorder, m, seen)
	}
	for _, cr := range crs {
		name := types.NamespacedName{Namespace: cr.meta.Namespace, Name: cr.meta.Name}
		if _, err := objects.Delete(ctx, r.Cluster, cr.resource, name, cr.meta.UID); err != nil {
			return clusters.Classify(fmt.Errorf("delete %s: %w", cr, err))
		}
	}
	return nil
}
