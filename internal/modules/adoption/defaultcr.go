package adoption

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/bundle"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
)

// uidUnknown is recorded as the uid of a default custom resource that upstream created and a user deleted. No object
// has this uid, so the resource counts as deleted and is not created again.
const uidUnknown = "deleted-before-adoption"

// defaultCR returns the record of the default custom resource, whether it exists or was created and then deleted.
// defaultCR returns nil if upstream had not created it yet.
func defaultCR(ctx context.Context, c *clusters.Cluster, m *v1beta2.Manifest, remoteNamespace string) (*v1beta2.DefaultCRRecord, error) {
	wanted, err := readiness.DefaultCROf(m)
	if err != nil || wanted == nil {
		return nil, err
	}
	var gone *v1beta2.DefaultCRRecord
	if meta.IsStatusConditionTrue(m.Status.Conditions, string(shared.ConditionModuleCR)) {
		gone = inventory.RecordOf(wanted, uidUnknown)
	}
	resource, err := kinds.Mapper{Cluster: c.Mapper}.Served(ctx, wanted.GroupVersionKind())
	if meta.IsNoMatchError(err) {
		return gone, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look up kind %s: %w", wanted.GetKind(), err)
	}
	bundle.Place(wanted, resource, remoteNamespace)
	if gone != nil {
		gone.Namespace = wanted.GetNamespace()
	}
	live, err := c.Metadata.Resource(resource.GroupVersionResource).Namespace(wanted.GetNamespace()).Get(ctx, wanted.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return gone, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s %s/%s: %w", wanted.GetKind(), wanted.GetNamespace(), wanted.GetName(), err)
	}
	return inventory.RecordOf(wanted, string(live.UID)), nil
}
