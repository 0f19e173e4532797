package install

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// optionalAppeared tells whether the cluster knows one of the kinds by now for which optional objects of a module
// were skipped: then they are to be applied. It costs nothing for a module of which none was skipped, and one
// request for each API version that is still unknown.
func optionalAppeared(ctx context.Context, mapper resourceMapper, m *v1beta2.Manifest) (bool, error) {
	for _, skipped := range m.Status.Skipped {
		gvk, ok := parseKind(skipped)
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

// forgetSkipped makes a mapper ask the cluster for the kinds that were skipped: what it remembers may be from before
// their definitions went, since another process may have found that out.
func forgetSkipped(mapper *clusters.Mapper, m *v1beta2.Manifest) {
	for _, skipped := range m.Status.Skipped {
		if gvk, ok := parseKind(skipped); ok {
			mapper.Forget(gvk)
		}
	}
}

// parseKind reads a kind as `status.kinds` names it.
func parseKind(text string) (schema.GroupVersionKind, bool) {
	parts := strings.Split(text, kindSeparator)
	if len(parts) != 3 || parts[1] == "" || parts[2] == "" {
		return schema.GroupVersionKind{}, false
	}
	return schema.GroupVersionKind{Group: parts[0], Version: parts[1], Kind: parts[2]}, true
}

// lacksOptional tells of a settled module that some of its optional objects were skipped.
func lacksOptional(m *v1beta2.Manifest) bool {
	return len(m.Status.Skipped) > 0 && m.DeletionTimestamp.IsZero() && !m.IsSkipReconciliation() && !m.IsUnmanaged()
}
