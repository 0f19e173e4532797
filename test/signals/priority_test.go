package signals

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/test/harness/temporaltest"
	"github.com/kyma-project/lifecycle-manager/worker"
)

// patience is how long a server may take on a busy machine.
const patience = 5 * time.Minute

// While a new version is on its way to a big tenant, an edit comes first, and a small tenant gets its turn.
// It keeps the server busy, so that it runs beside no other test.
func TestAnEditOvertakesAPacedChangeAndNoTenantStarvesAnother(t *testing.T) {
	_, temporal := temporaltest.Namespace(t, "priorities")
	accounts := func(_ context.Context, kyma types.NamespacedName) string { return strings.Split(kyma.Name, "-")[0] }
	sender := kick.NewSender(temporal, nil, accounts)
	var ids []string
	send := func(name string, urgent bool) {
		kyma := kick.Ref{Namespace: "ns", Name: name, UID: types.UID(name)}
		require.NoError(t, sender.Manifest(t.Context(), kyma, kyma, kick.Kick{Reason: "Manifest changed", Urgent: urgent}))
		ids = append(ids, kick.KymaWorkflowID(kyma))
	}
	for i := range 100 {
		send(fmt.Sprintf("big-%d", i), false)
	}
	for i := range 15 {
		send(fmt.Sprintf("small-%d", i), false)
	}
	for i := range 3 {
		send(fmt.Sprintf("big-edited-%d", i), true)
	}

	workflows := sdkworker.New(temporal, kick.ControlPlaneQueue, sdkworker.Options{})
	worker.RegisterWorkflows(workflows)
	workflows.RegisterActivityWithOptions(func(context.Context, syncing.Input) (syncing.Result, error) {
		return syncing.Result{Outcome: syncing.OutcomeGone}, nil // The Kymas' own steps are not part of the test.
	}, activity.RegisterOptions{Name: "SyncRemote"})
	require.NoError(t, workflows.Start())
	t.Cleanup(workflows.Stop)
	for _, id := range ids {
		require.Eventually(t, func() bool { return waitsInQueue(t, temporal, id) }, patience, 50*time.Millisecond, id)
	}

	var mutex sync.Mutex
	var order []string
	one := sdkworker.New(temporal, kick.RemoteQueue, sdkworker.Options{
		DisableWorkflowWorker: true, MaxConcurrentActivityExecutionSize: 1, MaxConcurrentActivityTaskPollers: 1,
	})
	one.RegisterActivityWithOptions(func(_ context.Context, in install.ApplyInput) (install.ApplyResult, error) {
		mutex.Lock()
		defer mutex.Unlock()
		order = append(order, in.Ref.Name)
		return install.ApplyResult{Outcome: manifests.OutcomeGone}, nil
	}, activity.RegisterOptions{Name: "ApplyManifest"})
	require.NoError(t, one.Start())
	t.Cleanup(one.Stop)
	require.Eventually(t, func() bool {
		mutex.Lock()
		defer mutex.Unlock()
		return len(order) == len(ids)
	}, patience, 50*time.Millisecond)

	// The server keeps close to the order, not exactly to it. In the order of their arrival, those that were sent last would come
	// last.
	require.Less(t, medianOf(order, "big-edited"), len(order)/4, "%v", order)
	require.Less(t, medianOf(order, "small"), len(order)*3/4, "%v", order)
}

// medianOf is the median of the places that names with a prefix have in an order.
func medianOf(order []string, prefix string) int {
	var places []int
	for i, name := range order {
		if strings.HasPrefix(name, prefix) {
			places = append(places, i)
		}
	}
	return places[len(places)/2]
}

// waitsInQueue reports whether the activity of a workflow was asked for.
func waitsInQueue(t *testing.T, temporal client.Client, id string) bool {
	t.Helper()
	described, err := temporal.DescribeWorkflow(t.Context(), id, "")
	require.NoError(t, err)
	return len(described.RawResponse.GetPendingActivities()) == 1
}
