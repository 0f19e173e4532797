package kick

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"go.temporal.io/sdk/temporal"
	"k8s.io/apimachinery/pkg/types"
)

// background is the priority in Temporal's queues of what changed for many at once, such as a new version in the catalog:
// what has none, such as the work on an edit, comes first (it counts as 3 of 5). A server whose matching service does not
// know priorities serves all in the order of their arrival.
const background = 4

// maxFairnessKey is the most bytes that Temporal takes of a fairness key.
const maxFairnessKey = 64

// Tenants says by the name of a Kyma which tenant it belongs to; empty where nothing says so.
type Tenants func(ctx context.Context, kyma types.NamespacedName) string

// inQueue is the place in Temporal's queues of a workflow that is started for a kick. Between the tenants, the server
// serves what has the same priority in turn. A Kyma's workflow outlives many kicks, so that it has no priority:
// reconciles that nobody waits for have a queue of their own.
func inQueue(workflow, signal, tenant string, k Kick) temporal.Priority {
	p := temporal.Priority{FairnessKey: fairnessKey(tenant)}
	if workflow != KymaWorkflow && workflow != RolloutWorkflow && signal != SignalPurge && !k.Urgent && !k.Deleting {
		p.PriorityKey = background
	}
	return p
}

// fairnessKey is a tenant's name as Temporal takes it.
func fairnessKey(tenant string) string {
	if len(tenant) <= maxFairnessKey {
		return tenant
	}
	sum := sha256.Sum256([]byte(tenant))
	return hex.EncodeToString(sum[:])
}
