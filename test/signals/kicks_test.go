// Package signals proves on a real Temporal server that no kick is lost around the ends of runs: each of the
// rules that it covers closes a hole in which signals vanished without any error at their sender.
package signals

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/look"
	"github.com/kyma-project/lifecycle-manager/activities/manifests"
	"github.com/kyma-project/lifecycle-manager/activities/readiness"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/status"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/test/harness"
	"github.com/kyma-project/lifecycle-manager/worker"
)

// truth is a control plane reduced to one number per entity, which each change raises.
type truth struct {
	mu     sync.Mutex
	now    map[types.UID]int
	looked map[types.UID]int
}

func newTruth() *truth { return &truth{now: map[types.UID]int{}, looked: map[types.UID]int{}} }

func (tr *truth) change(uid types.UID) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.now[uid]++
}

// look reads the truth at its start, as every look does, and takes a moment.
func (tr *truth) look(uid types.UID) {
	tr.mu.Lock()
	seen := tr.now[uid]
	tr.mu.Unlock()
	time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.looked[uid] = max(tr.looked[uid], seen)
}

func (tr *truth) unseen() []string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	var missed []string
	for uid, now := range tr.now {
		if tr.looked[uid] != now {
			missed = append(missed, fmt.Sprintf("%s: %d of %d", uid, tr.looked[uid], now))
		}
	}
	return missed
}

// quiet are activities that look at the truth and find all well.
func quiet(tr *truth) map[string]any {
	return map[string]any{
		"ApplyManifest": func(_ context.Context, in install.ApplyInput) (install.ApplyResult, error) {
			tr.look(in.Ref.UID)
			return install.ApplyResult{Outcome: manifests.OutcomeApplied, Module: "m", Version: "1", Kyma: "k"}, nil
		},
		"WaitManifest": func(context.Context, install.WaitInput) (readiness.Observed, error) {
			return readiness.Observed{State: shared.StateReady}, nil
		},
		"ReportManifest": func(context.Context, manifests.ReportInput) (manifests.ReportResult, error) {
			return manifests.ReportResult{Outcome: manifests.OutcomeApplied}, nil
		},
		"SyncRemote": func(_ context.Context, in syncing.Input) (syncing.Result, error) {
			tr.look(in.Ref.UID)
			return syncing.Result{Outcome: syncing.OutcomeOff}, nil
		},
		"ResolveKyma": func(context.Context, resolve.Input) (resolve.Result, error) {
			return resolve.Result{Outcome: resolve.OutcomeDone, InputsDigest: "d"}, nil
		},
		"LookInBackground": func(_ context.Context, in look.Input) (look.Result, error) {
			tr.look(in.Ref.UID)
			return look.Result{
				Sync:     syncing.Result{Outcome: syncing.OutcomeOff},
				Resolved: &resolve.Result{Outcome: resolve.OutcomeDone, InputsDigest: "d"},
			}, nil
		},
		"ReportKyma": func(context.Context, status.ReportInput) (status.ReportResult, error) {
			return status.ReportResult{Outcome: status.OutcomeReported, State: shared.StateReady}, nil
		},
	}
}

// startWorkers runs the real workflows with these activities.
func startWorkers(t testing.TB, temporal client.Client, activities map[string]any) {
	t.Helper()
	controlPlane := sdkworker.New(temporal, kick.ControlPlaneQueue, sdkworker.Options{})
	worker.RegisterWorkflows(controlPlane)
	all := []sdkworker.Worker{controlPlane}
	for _, queue := range []string{kick.RemoteQueue, kick.BackgroundQueue} {
		all = append(all, sdkworker.New(temporal, queue, sdkworker.Options{DisableWorkflowWorker: true}))
	}
	for _, each := range all {
		for name, fn := range activities {
			each.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: name})
		}
		require.NoError(t, each.Start())
		t.Cleanup(each.Stop)
	}
}

const (
	entities       = 30
	kicksPerEntity = 8
)

// kickAtRandom changes and kicks every entity at random instants, each about as far apart as one look takes,
// so that many fall on the ends of runs.
func kickAtRandom(t *testing.T, tr *truth, kind string, send func(ref kick.Ref, k kick.Kick) error) {
	t.Helper()
	var group sync.WaitGroup
	errs := make(chan error, entities*kicksPerEntity)
	for i := range entities {
		ref := kick.Ref{Namespace: "ns", Name: fmt.Sprintf("%s-%d", kind, i), UID: types.UID(fmt.Sprintf("%s-uid-%d", kind, i))}
		group.Go(func() {
			for range kicksPerEntity {
				tr.change(ref.UID)
				if err := send(ref, kick.Kick{Reason: "changed", Kind: kind, Name: ref.Name, Urgent: rand.IntN(2) == 0}); err != nil {
					errs <- err
				}
				time.Sleep(time.Duration(rand.IntN(1500)) * time.Millisecond)
			}
		})
	}
	group.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
}

func TestNoKickAroundTheSettlingOfAManifestIsLost(t *testing.T) {
	t.Parallel()
	_, temporal := harness.TemporalNamespace(t, "settling")
	tr := newTruth()
	startWorkers(t, temporal, quiet(tr))
	sender := kick.NewSender(temporal, nil, nil)
	kickAtRandom(t, tr, "Manifest", func(ref kick.Ref, k kick.Kick) error { return sender.Manifest(context.Background(), ref, k) })
	require.Eventually(t, func() bool { return len(tr.unseen()) == 0 }, 3*time.Minute, 100*time.Millisecond,
		"changes that no look has seen: %v", tr.unseen())
}

func TestNoKickAroundContinueAsNewOfAKymaIsLost(t *testing.T) {
	t.Parallel()
	_, temporal := harness.TemporalNamespace(t, "continuing")
	tr := newTruth()
	startWorkers(t, temporal, quiet(tr))
	sender := kick.NewSender(temporal, nil, nil)
	kickAtRandom(t, tr, "Kyma", func(ref kick.Ref, k kick.Kick) error {
		if err := sender.Kyma(context.Background(), ref, k); err != nil {
			return err
		}
		if rand.IntN(2) == 0 {
			// Into run number two, three, ... as well as into the first.
			return temporal.SignalWorkflow(context.Background(), kick.KymaWorkflowID(ref), "", kick.SignalContinueAsNew, nil)
		}
		return nil
	})
	require.Eventually(t, func() bool { return len(tr.unseen()) == 0 }, 3*time.Minute, 100*time.Millisecond,
		"changes that no look has seen: %v", tr.unseen())
}
