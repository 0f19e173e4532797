package watchers

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// SweepStarter makes sure that the sweeps of all shards run.
type SweepStarter interface {
	EnsureSweeps(ctx context.Context) error
}

// ensureSweepsEvery is how often the leader makes sure that all sweeps run.
const ensureSweepsEvery = 5 * time.Minute

// retrySweepsAfter is how soon it tries again when that failed.
const retrySweepsAfter = 5 * time.Second

func (w *watcher) addSweeps(mgr manager.Manager) error {
	// A RunnableFunc needs leader election by default: only the leader starts sweeps.
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		for {
			wait := ensureSweepsEvery
			if err := w.Sweeps.EnsureSweeps(ctx); err != nil && ctx.Err() == nil {
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
