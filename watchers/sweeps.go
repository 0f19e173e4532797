package watchers

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	temporal "go.temporal.io/sdk/client"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/workflows/sweep"
)

// SweepStarter keeps the sweeps of all shards running.
type SweepStarter interface {
	EnsureSweeps(ctx context.Context) error
	// Unknown reports whether Temporal does not know a sweep that was started. It has then lost all workflows.
	Unknown(ctx context.Context) (bool, error)
}

const (
	// ensureSweepsEvery is how often the leader makes sure that all sweeps run.
	ensureSweepsEvery = 5 * time.Minute
	// checkForLossEvery is how often the leader asks whether Temporal still knows the sweeps.
	checkForLossEvery = 10 * time.Second
	// retrySweepsAfter is how soon the leader retries if one of these checks failed.
	retrySweepsAfter = 5 * time.Second
)

func (w *watcher) addSweeps(mgr manager.Manager) error {
	// A RunnableFunc needs leader election by default, so only the leader starts sweeps.
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		watch := sweepWatch{watcher: w}
		for {
			wait := checkForLossEvery
			if err := watch.check(ctx); err != nil && ctx.Err() == nil {
				log.FromContext(ctx).Error(err, "ensure that the sweeps run, will try again")
				wait = retrySweepsAfter
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(wait):
			}
		}
	}))
}

// sweepWatch keeps the sweeps running, and notices the loss or replacement of Temporal's database. No workflow then
// continues the work in progress, and only the sweep would notice, much later.
type sweepWatch struct {
	*watcher
	// ensured is when all sweeps were last known to run; zero before the first check.
	ensured time.Time
	// lost is true from a loss until all unsettled objects were kicked.
	lost bool
}

// check starts the sweeps if that is due. If Temporal has lost its workflows, check kicks all unsettled objects.
func (s *sweepWatch) check(ctx context.Context) error {
	if !s.ensured.IsZero() {
		unknown, err := s.Sweeps.Unknown(ctx)
		if err != nil {
			return err
		}
		if unknown {
			log.FromContext(ctx).Error(nil, "Temporal has lost all workflows, because its database was lost or replaced: kicking all Kymas and Manifests that are not settled")
			s.lost, s.ensured = true, time.Time{}
		}
	}
	if now := s.Now(); now.Sub(s.ensured) >= ensureSweepsEvery {
		if err := s.Sweeps.EnsureSweeps(ctx); err != nil {
			return err
		}
		if s.Certificates != nil {
			if err := s.Certificates.EnsureCertificates(ctx); err != nil {
				return err
			}
		}
		s.ensured = now
	}
	if !s.lost {
		return nil
	}
	if err := s.kickUnsettled(ctx); err != nil {
		return err
	}
	s.lost = false
	return nil
}

// kickUnsettled kicks what the start of a leader would kick: Kymas that are being deleted or have changed inputs, and
// Manifests that are not settled. The sweep finds everything else.
func (w *watcher) kickUnsettled(ctx context.Context) error {
	var kymas v1beta2.KymaList
	if err := w.reader.List(ctx, &kymas, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list Kymas: %w", err)
	}
	var manifests v1beta2.ManifestList
	if err := w.reader.List(ctx, &manifests, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list Manifests: %w", err)
	}
	var failed []error
	for i := range kymas.Items {
		_, err := w.kickKyma(ctx, kymaRequest{Ref: kick.RefOf(&kymas.Items[i])})
		failed = append(failed, err)
	}
	for i := range manifests.Items {
		_, err := w.kickManifest(ctx, manifestRequest{Ref: kick.RefOf(&manifests.Items[i])})
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// TemporalSweeps starts sweep workflows.
type TemporalSweeps struct {
	Temporal temporal.Client
	// Interval is the initial resync interval of a new sweep.
	Interval time.Duration
	// Shards is the number of sweeps. Surplus sweeps of an earlier configuration with more shards end by themselves.
	Shards int
}

// EnsureSweeps starts the sweep of every shard that has none.
func (t TemporalSweeps) EnsureSweeps(ctx context.Context) error {
	for shard := range t.Shards {
		options := temporal.StartWorkflowOptions{
			ID:                       kick.SweepWorkflowID(shard),
			TaskQueue:                kick.SweepQueue,
			WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
			WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
			StaticSummary:            fmt.Sprintf("sweep of shard %d of %d", shard, t.Shards),
		}
		in := sweep.Input{Shard: shard, Shards: t.Shards, Interval: t.Interval}
		if _, err := t.Temporal.ExecuteWorkflow(ctx, options, kick.SweepWorkflow, in); err != nil {
			return fmt.Errorf("start the sweep of shard %d: %w", shard, err)
		}
	}
	return nil
}

// Unknown reports whether Temporal does not know the sweep of the first shard, open or closed.
func (t TemporalSweeps) Unknown(ctx context.Context) (bool, error) {
	_, err := t.Temporal.DescribeWorkflow(ctx, kick.SweepWorkflowID(0), "")
	if _, ok := errors.AsType[*serviceerror.NotFound](err); ok {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("describe the sweep of shard 0: %w", err)
	}
	return false, nil
}
