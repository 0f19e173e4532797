package kick

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"k8s.io/apimachinery/pkg/types"
)

// maxFairnessKey is the most bytes that Temporal takes of a fairness key.
const maxFairnessKey = 64

// Tenants says by the name of a Kyma which tenant it belongs to; empty where nothing says so.
type Tenants func(ctx context.Context, kyma types.NamespacedName) string

// fairnessKey is a tenant's name as Temporal takes it.
func fairnessKey(tenant string) string {
	if len(tenant) <= maxFairnessKey {
		return tenant
	}
	sum := sha256.Sum256([]byte(tenant))
	return hex.EncodeToString(sum[:])
}
