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
	// checkEvery is how often definitions are read that need nothing, and retryAllowed those that need more rights than
	// the account has, which may be given to it.
	checkEvery   = time.Hour
	retryAllowed = 10 * time.Minute
	// retryAtMost is how long to wait between failures at most.
	retryAtMost = 10 * time.Minute
)

// Add has the process that leads migrate our kinds, where its account may.
func Add(mgr manager.Manager) error {
	live, err := client.New(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return fmt.Errorf("make the client that migrates stored versions: %w", err)
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
	// said is what the account lacked when that was last logged, by the definition.
	said map[string]string
}

func newBackoff() wait.Backoff {
	return wait.Backoff{Duration: 30 * time.Second, Factor: 2, Jitter: 0.1, Steps: 100, Cap: retryAtMost}
}

// NeedLeaderElection is true: one process suffices, although more would harm nothing.
func (*leader) NeedLeaderElection() bool { return true }

// Start migrates until ctx is done. It implements manager.Runnable.
func (l *leader) Start(ctx context.Context) error {
	for ctx.Err() == nil {
		next := l.attempt(ctx)
		_ = sleep(ctx, next) // the end of ctx is the end of this too
	}
	return nil
}

// attempt migrates what needs it, and returns when to do so again.
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
			// The start refuses that; it was deleted since.
		case errors.As(err, &lacking):
			l.lacks(name, result.Before, lacking)
			next = retryAllowed
		case err != nil:
			failed = true
			l.log.Error(err, "objects may still be stored in an older version; all are rewritten again later", logkey.Name, name, logkey.StoredVersions, result.Before.Older)
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
	l.log.Info("objects may be stored in an older version; all are rewritten", logkey.Name, d.Name,
		logkey.StorageVersion, d.Kind.Version, logkey.StoredVersions, d.Older, logkey.Total, objects)
}

// lacks says what the account lacks, once until that changes.
func (l *leader) lacks(name string, d Definition, lacking *NotAllowedError) {
	if l.said[name] == lacking.Error() {
		return
	}
	l.said[name] = lacking.Error()
	l.log.Info("objects may be stored in an older version, and this account may not rewrite all of them: an administrator can do so by lifecycle-manager crds migrate",
		logkey.Name, name, logkey.StoredVersions, d.Older, logkey.Reason, lacking.Error())
}
