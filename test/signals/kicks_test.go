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

	"github.com/kyma-project/lifecycle-manager/activities/background"
	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/status"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/test/harness/temporaltest"
	"github.com/kyma-project/lifecycle-manager/worker"
)

// state is a control plane reduced to one number per entity, which each change raises.
type state struct {
	mu   sync.Mutex
	now  map[types.UID]int
	read map[types.UID]int
}

func newState() *state { return &state{now: map[types.UID]int{}, read: map[types.UID]int{}} }

func (st *state) change(uid types.UID) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.now[uid]++
}

// reconcile reads the state at its start, as every reconcile does, and takes some milliseconds.
func (st *state) reconcile(uid types.UID) {
	st.mu.Lock()
	seen := st.now[uid]
	st.mu.Unlock()
	time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
	st.mu.Lock()
	defer st.mu.Unlock()
	st.read[uid] = max(st.read[uid], seen)
}

func (st *state) unseen() []string {
	st.mu.Lock()
	defer st.mu.Unlock()
	var missed []string
	for uid, now := range st.now {
		if st.read[uid] != now {
			missed = append(missed, fmt.Sprintf("%s: %d of %d", uid, st.read[uid], now))
		}
	}
	return missed
}

// quiet are activities that read the state and find nothing to do.
func quiet(st *state) map[string]any {
	return map[string]any{
		"ApplyManifest": func(_ context.Context, in install.ApplyInput) (install.ApplyResult, error) {
			st.reconcile(in.Ref.UID)
			return install.ApplyResult{Outcome: manifests.OutcomeApplied, Module: "m", Version: "1", Kyma: "k"}, nil
		},
		"FollowModules": func(_ context.Context, in install.FollowInput) (news []install.ModuleNews, err error) {
			for _, each := range in.Modules {
				news = append(news, install.ModuleNews{Ref: each.Ref, WaitResult: install.WaitResult{Observed: readiness.Observed{State: shared.StateReady}}})
			}
			return news, nil
		},
		"ReportManifest": func(context.Context, manifests.ReportInput) (manifests.ReportResult, error) {
			return manifests.ReportResult{Outcome: manifests.OutcomeApplied}, nil
		},
		"SyncRemote": func(_ context.Context, in syncing.Input) (syncing.Result, error) {
			st.reconcile(in.Ref.UID)
			return syncing.Result{Outcome: syncing.OutcomeOff}, nil
		},
		"ResolveKyma": func(context.Context, resolve.Input) (resolve.Result, error) {
			return resolve.Result{Outcome: resolve.OutcomeDone, InputsDigest: "d"}, nil
		},
		"ReconcileInBackground": func(_ context.Context, in background.Input) (background.Result, error) {
			st.reconcile(in.Ref.UID)
			return background.Result{
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
	for _, queue := range []string{kick.RemoteQueue, kick.BackgroundQueue, kick.FollowQueue} {
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

// kickAtRandom changes and kicks every entity at random instants, each about as far apart as one reconcile takes,
// so that many fall on the ends of runs.
func kickAtRandom(t *testing.T, st *state, kind string, send func(ref kick.Ref, k kick.Kick) error) {
	t.Helper()
	var group sync.WaitGroup
	errs := make(chan error, entities*kicksPerEntity)
	for i := range entities {
		ref := kick.Ref{Namespace: "ns", Name: fmt.Sprintf("%s-%d", kind, i), UID: types.UID(fmt.Sprintf("%s-uid-%d", kind, i))}
		group.Go(func() {
			for range kicksPerEntity {
				st.change(ref.UID)
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

// kymaOf is the Kyma of a Manifest, of which there is one each.
func kymaOf(manifest kick.Ref) kick.Ref {
	return kick.Ref{Namespace: manifest.Namespace, Name: "kyma-of-" + manifest.Name, UID: "kyma-of-" + manifest.UID}
}

func TestNoKickAroundTheSettlingOfAManifestIsLost(t *testing.T) {
	t.Parallel()
	_, temporal := temporaltest.Namespace(t, "settling")
	st := newState()
	startWorkers(t, temporal, quiet(st))
	sender := kick.NewSender(temporal, nil, nil)
	kickAtRandom(t, st, "Manifest", func(ref kick.Ref, k kick.Kick) error {
		return sender.Manifest(context.Background(), kymaOf(ref), ref, k)
	})
	require.Eventually(t, func() bool { return len(st.unseen()) == 0 }, 3*time.Minute, 100*time.Millisecond,
		"changes that no reconcile has seen: %v", st.unseen())
}

func TestNoKickAroundContinueAsNewOfAKymaIsLost(t *testing.T) {
	t.Parallel()
	_, temporal := temporaltest.Namespace(t, "continuing")
	st := newState()
	startWorkers(t, temporal, quiet(st))
	sender := kick.NewSender(temporal, nil, nil)
	kickAtRandom(t, st, "Kyma", func(ref kick.Ref, k kick.Kick) error {
		if err := sender.Kyma(context.Background(), ref, k); err != nil {
			return err
		}
		if rand.IntN(2) == 0 {
			// Into run number two, three, ... as well as into the first.
			return temporal.SignalWorkflow(context.Background(), kick.KymaWorkflowID(ref), "", kick.SignalContinueAsNew, nil)
		}
		return nil
	})
	require.Eventually(t, func() bool { return len(st.unseen()) == 0 }, 3*time.Minute, 100*time.Millisecond,
		"changes that no reconcile has seen: %v", st.unseen())
}
