package fleet

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// TenantOf is the global account that a Kyma belongs to, by its label; empty where it has none, or is not known (yet).
func (f *Fleet) TenantOf(ctx context.Context, kyma types.NamespacedName) string {
	var found v1beta2.Kyma
	if f.known.Get(ctx, kyma, &found, client.UnsafeDisableDeepCopy) != nil {
		return ""
	}
	return found.Labels[shared.LabelGlobalAccountID]
}
