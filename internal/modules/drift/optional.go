package drift

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
)

// optionalAppeared reports whether the cluster now serves a kind of optional objects that were skipped. The objects
// then have to be applied. It costs nothing for a module without skipped objects, and one request for each API
// version that is still unknown.
func optionalAppeared(ctx context.Context, mapper kinds.ClusterMapper, m *v1beta2.Manifest) (bool, error) {
	for _, skipped := range m.Status.Skipped {
		gvk, ok := kinds.Parse(skipped)
		if !ok {
			continue
		}
		_, err := mapper.Resource(ctx, gvk)
		if err == nil {
			return true, nil
		}
		if !meta.IsNoMatchError(err) {
			return false, fmt.Errorf("look up kind %s: %w", gvk, err)
		}
	}
	return false, nil
}

// forgetSkipped makes the mapper ask the cluster again for the skipped kinds. The mapper's cache may be older than
// the deletion of their definitions, which another process may have noticed.
func forgetSkipped(mapper *clusters.Mapper, m *v1beta2.Manifest) {
	for _, skipped := range m.Status.Skipped {
		if gvk, ok := kinds.Parse(skipped); ok {
			mapper.Forget(gvk)
		}
	}
}

// lacksOptional reports whether optional objects of an installed module were skipped.
func lacksOptional(m *v1beta2.Manifest) bool {
	return len(m.Status.Skipped) > 0 && m.IsMaintained()
}
