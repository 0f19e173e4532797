package fleet

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// TenantOf returns the global account in a Kyma's label. It is empty if the Kyma has no label, or is not known (yet).
func (f *Fleet) TenantOf(ctx context.Context, kyma types.NamespacedName) string {
	var found v1beta2.Kyma
	if f.known.Get(ctx, kyma, &found, client.UnsafeDisableDeepCopy) != nil {
		return ""
	}
	return found.Labels[shared.LabelGlobalAccountID]
}
