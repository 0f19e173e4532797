package atwork

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/cmd/internal/cli"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/preflight"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/worker/taskqueues"
)

// pollersWithin bounds how long `status` waits for Temporal.
const pollersWithin = 3 * time.Second

// pollers asks Temporal which workers poll for an instance. The caller may not reach Temporal.
type pollers struct{ controlPlane client.Reader }

// unpolled implements Problems.unpolled. The answer is unknown if the environment has no address of Temporal, or if its
// Temporal namespace belongs to another instance.
func (p pollers) unpolled(ctx context.Context, instance string) (problem string, known bool) {
	if !cli.HasTemporalAddress() {
		return "", false
	}
	ctx, cancel := context.WithTimeout(ctx, pollersWithin)
	defer cancel()
	temporal, namespace, err := cli.DialTemporal(ctx)
	if err != nil {
		return "Temporal cannot be used from here: " + err.Error(), true
	}
	defer temporal.Close()
	uid, err := clusters.UIDOf(ctx, p.controlPlane)
	if err != nil {
		return "", false
	}
	owner, _, err := preflight.OwnerOf(ctx, temporal)
	if err != nil || owner == nil || !owner.Is(preflight.Owner{ControlPlane: string(uid), Instance: instance}) {
		return "", false
	}
	for _, queue := range taskqueues.All() {
		described, err := taskqueues.Describe(ctx, temporal.WorkflowService(), namespace, queue, time.Now())
		if err != nil {
			return "", false
		}
		if err := described.Unpolled(queue); err != nil {
			return err.Error(), true
		}
	}
	return "", true
}
