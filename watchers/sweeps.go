package watchers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// SweepStarter makes sure that the sweeps of all shards run.
type SweepStarter interface {
	EnsureSweeps(ctx context.Context) error
	// Unknown tells whether Temporal knows nothing of a sweep that was started: then it has lost all workflows.
	Unknown(ctx context.Context) (bool, error)
}

const (
	// ensureSweepsEvery is how often the leader makes sure that all sweeps run.
	ensureSweepsEvery = 5 * time.Minute
	// lookForLossEvery is how often it asks whether Temporal still knows them.
	lookForLossEvery = 10 * time.Second
	// retrySweepsAfter is how soon it tries again when one of that failed.
	retrySweepsAfter = 5 * time.Second
)

func (w *watcher) addSweeps(mgr manager.Manager) error {
	// A RunnableFunc needs leader election by default: only the leader starts sweeps.
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		watch := sweepWatch{watcher: w}
		for {
			wait := lookForLossEvery
			if err := watch.look(ctx); err != nil && ctx.Err() == nil {
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

// sweepWatch keeps the sweeps running, and notices when Temporal's database was lost or replaced: then nobody works on
// what was under way, and nothing but the sweep would find out, much later.
type sweepWatch struct {
	*watcher
	// ensured is when all sweeps were last made sure of; zero before the first time.
	ensured time.Time
	// lost is true from a loss until everything that is not settled was kicked.
	lost bool
}

func (s *sweepWatch) look(ctx context.Context) error {
	if !s.ensured.IsZero() {
		unknown, err := s.Sweeps.Unknown(ctx)
		if err != nil {
			return err
		}
		if unknown {
			log.FromContext(ctx).Error(nil, "Temporal has lost all workflows: its database was lost or replaced; what is not settled is begun again")
			s.lost, s.ensured = true, time.Time{}
		}
	}
	if now := s.Now(); now.Sub(s.ensured) >= ensureSweepsEvery {
		if err := s.Sweeps.EnsureSweeps(ctx); err != nil {
			return err
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

// kickUnsettled kicks what a start would kick: Kymas whose inputs were not looked at or that are being deleted, and
// Manifests that are not settled. Everything else is the sweep's to find.
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
