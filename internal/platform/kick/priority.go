package kick

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"k8s.io/apimachinery/pkg/types"
)

// maxFairnessKey is the greatest length of a fairness key that Temporal accepts, in bytes.
const maxFairnessKey = 64

// Tenants returns the tenant of a Kyma by its name, or an empty string if the tenant is unknown.
type Tenants func(ctx context.Context, kyma types.NamespacedName) string

// fairnessKey returns the tenant's name, or its hash if Temporal would refuse the name as too long.
func fairnessKey(tenant string) string {
	if len(tenant) <= maxFairnessKey {
		return tenant
	}
	sum := sha256.Sum256([]byte(tenant))
	return hex.EncodeToString(sum[:])
}
