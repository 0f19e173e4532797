package deployment

import (
	"context"
	"time"

	"github.com/go-logr/logr"

	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
)

const (
	// readEvery is how often the leader reads the state. idleEvery applies if it has no versioned workers and none
	// ever polled.
	readEvery = 5 * time.Second
	idleEvery = 30 * time.Second
	// stepTimeout bounds one reading and the change that follows.
	stepTimeout = 10 * time.Second
	// goneAfter is how many readings in a row must find no worker of the current version before another version
	// becomes current.
	goneAfter = 2
)

// Leader makes the version of its build current (see Next). Only the leading process runs it.
type Leader struct {
	Deployment Deployment
	// BuildID is the build id of this process, or Unversioned if its workers are not versioned.
	BuildID string
	Ramp    Ramp
	Log     logr.Logger

	said string
	gone int
	// idle is true while there is nothing to decide.
	idle bool
}

// Start reconciles until ctx is done. It implements manager.Runnable, and needs leader election by default.
func (l *Leader) Start(ctx context.Context) error {
	for {
		if err := l.reconcile(ctx); err != nil && ctx.Err() == nil {
			// If this process has no versioned workers, a server without worker deployments is no problem.
			if l.idle = l.BuildID == Unversioned; !l.idle {
				l.Log.Error(err, "cannot read or change the worker deployment, will retry")
			}
		}
		wait := readEvery
		if l.idle {
			wait = idleEvery
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

func (l *Leader) reconcile(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	s, err := l.Deployment.Read(ctx)
	if err != nil {
		return err
	}
	l.idle = !s.Exists && l.BuildID == Unversioned
	if s.Exists && s.Pollers[s.Current] == NoQueue {
		l.gone++
	} else {
		l.gone = 0
	}
	step := Next(s, l.BuildID, l.Ramp, l.Deployment.Now())
	if 0 < l.gone && l.gone < goneAfter {
		return nil
	}
	if step.Current == nil && step.Ramping == nil {
		if s.Exists && step.Why != l.said {
			l.Log.Info("worker deployment", logkey.BuildID, l.BuildID, logkey.Reason, step.Why)
		}
		l.said = step.Why
		return nil
	}
	if err := l.Deployment.Do(ctx, s, step); err != nil {
		return err
	}
	if step.Current != nil {
		l.Log.Info("worker deployment: the current version changed", logkey.BuildID, Say(*step.Current), logkey.Reason, step.Why)
	} else {
		l.Log.Info("worker deployment: a version ramps", logkey.BuildID, Say(*step.Ramping), logkey.Percent, step.Percent, logkey.Reason, step.Why)
	}
	l.said = ""
	return nil
}
