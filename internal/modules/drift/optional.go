package drift

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/kinds"
)

// optionalAppeared tells whether the cluster knows one of the kinds by now for which optional objects of a module
// were skipped: then they are to be applied. It costs nothing for a module of which none was skipped, and one
// request for each API version that is still unknown.
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

// forgetSkipped makes a mapper ask the cluster for the kinds that were skipped: its cache may be older than the deletion
// of their definitions, which another process may have noticed.
func forgetSkipped(mapper *clusters.Mapper, m *v1beta2.Manifest) {
	for _, skipped := range m.Status.Skipped {
		if gvk, ok := kinds.Parse(skipped); ok {
			mapper.Forget(gvk)
		}
	}
}

// lacksOptional tells whether some optional objects of an installed module were skipped.
func lacksOptional(m *v1beta2.Manifest) bool {
	return len(m.Status.Skipped) > 0 && m.IsMaintained()
}
