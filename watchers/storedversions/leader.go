package storedversions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kyma-project/lifecycle-manager/deploy/crds"
	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
)

const (
	// checkEvery is how often migrated definitions are checked. retryAllowed is how often definitions are retried that
	// need more rights than the account has.
	checkEvery   = time.Hour
	retryAllowed = 10 * time.Minute
	// retryAtMost bounds the wait after failures.
	retryAtMost = 10 * time.Minute
)

// Add lets the leader migrate our kinds, if its account has the rights.
func Add(mgr manager.Manager) error {
	live, err := client.New(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return fmt.Errorf("create the client that migrates stored versions: %w", err)
	}
	definitions, err := crds.All()
	if err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(definitions))
	return mgr.Add(&leader{migrator: New(live), names: names, log: mgr.GetLogger().WithName("stored-versions"), backoff: newBackoff(), said: map[string]string{}})
}

// leader migrates the kinds of CustomResourceDefinitions while this process leads.
type leader struct {
	migrator *Migrator
	names    []string
	log      logr.Logger
	backoff  wait.Backoff
	// said is the last logged list of missing rights, by definition.
	said map[string]string
}

func newBackoff() wait.Backoff {
	return wait.Backoff{Duration: 30 * time.Second, Factor: 2, Jitter: 0.1, Steps: 100, Cap: retryAtMost}
}

// NeedLeaderElection returns true: one process suffices. Several would do no damage.
func (*leader) NeedLeaderElection() bool { return true }

// Start migrates until ctx is done. It implements manager.Runnable.
func (l *leader) Start(ctx context.Context) error {
	for ctx.Err() == nil {
		next := l.attempt(ctx)
		_ = sleep(ctx, next) // the loop ends with ctx
	}
	return nil
}

// attempt migrates what needs migration, and returns how long to wait before the next attempt.
func (l *leader) attempt(ctx context.Context) time.Duration {
	failed, next := false, checkEvery
	for _, name := range l.names {
		result, err := l.migrator.Migrate(ctx, name, l.begins)
		if ctx.Err() != nil {
			return next
		}
		var lacking *NotAllowedError
		switch {
		case errors.Is(err, ErrMissing):
			// The start refuses a missing definition, so it was deleted since.
		case errors.As(err, &lacking):
			l.lacks(name, result.Before, lacking)
			next = retryAllowed
		case err != nil:
			failed = true
			l.log.Error(err, "objects may still be stored in an older version, will rewrite all of them again", logkey.Name, name, logkey.StoredVersions, result.Before.Older)
		case !result.Before.Migrated():
			l.log.Info("no object is stored in an older version any more", logkey.Name, name, logkey.StorageVersion, result.Before.Kind.Version, logkey.Total, result.Objects)
		}
		if lacking == nil {
			delete(l.said, name)
		}
	}
	if failed {
		return min(next, l.backoff.Step())
	}
	l.backoff = newBackoff()
	return next
}

func (l *leader) begins(d Definition, objects int) {
	l.log.Info("objects may be stored in an older version, rewriting all of them", logkey.Name, d.Name,
		logkey.StorageVersion, d.Kind.Version, logkey.StoredVersions, d.Older, logkey.Total, objects)
}

// lacks logs the missing rights, once until they change.
func (l *leader) lacks(name string, d Definition, lacking *NotAllowedError) {
	if l.said[name] == lacking.Error() {
		return
	}
	l.said[name] = lacking.Error()
	l.log.Info("objects may be stored in an older version, and this account may not rewrite all of them: let an administrator run lifecycle-manager crds migrate",
		logkey.Name, name, logkey.StoredVersions, d.Older, logkey.Reason, lacking.Error())
}
