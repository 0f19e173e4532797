package install

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/inventory"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
	"github.com/kyma-project/lifecycle-manager/internal/modules/apply"
	"github.com/kyma-project/lifecycle-manager/internal/modules/bundle"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/platform/lists"
)

// storedVersions returns the CRDs that would lose a version in which objects are stored. It runs before anything of an
// upgrade is applied. It costs one request for all CRDs of the module and one for each CRD that the upgrade changes. A
// module without CRDs, or one that was never applied, costs no request. A version that was only partly applied counts as
// applied, because it may already have stored objects.
func storedVersions(ctx context.Context, job *apply.Installation) ([]string, error) {
	m := job.Manifest
	if m.Status.InstalledRef == inventory.LayersRef(m) {
		return nil, nil
	}
	applied := inventory.AppliedBefore(m.Status.Inventory)
	known := lists.Filter(job.Plan.Stages[kinds.StageDefinitions], func(p bundle.Placed) bool { return applied[p.Entry.ID] })
	if len(known) == 0 {
		return nil, nil
	}
	digests := map[string]string{}
	err := objects.MetadataOf(ctx, job.Cluster, known[0].Resource, job.Owner.Selector(), func(live *metav1.PartialObjectMetadata) {
		digests[live.Name] = live.Annotations[shared.AnnotationAppliedDigest]
	})
	if err != nil {
		return nil, clusters.Classify(err)
	}
	var unservable []string
	for _, p := range known {
		if digests[p.Name.Name] == p.Object.Digest {
			continue
		}
		live, err := job.Cluster.Dynamic.Resource(p.Resource.GroupVersionResource).Get(ctx, p.Name.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, clusters.Classify(fmt.Errorf("read %s: %w", p, err))
		}
		stored, _, _ := unstructured.NestedStringSlice(live.Object, kinds.PathStatus, "storedVersions")
		missing := slices.DeleteFunc(slices.Clone(stored), func(version string) bool { return slices.Contains(p.Object.Versions, version) })
		if len(missing) > 0 {
			unservable = append(unservable, fmt.Sprintf("%s would lose %s, in which objects are stored", p, strings.Join(missing, ", ")))
		}
	}
	return unservable, nil
}
