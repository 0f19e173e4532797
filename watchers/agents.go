package watchers

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kyma-project/lifecycle-manager/activities/agents"
	"github.com/kyma-project/lifecycle-manager/activities/desired"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// agentsCompared is how often the leader compares what agents are to be with what it was.
const agentsCompared = 5 * time.Second

// addAgents wakes every synchronized Kyma when what agents are to be changes: a Watcher, the address of the listener, the
// authorities. It is compared as a whole, for what it is made of is in several places. What changed while nobody watched is
// in each Kyma's digest.
func (w *watcher) addAgents(mgr manager.Manager) error {
	if w.Agents == nil {
		return nil
	}
	// A RunnableFunc needs leader election by default.
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		known := ""
		for {
			version, err := w.Agents(ctx)
			if err == nil && known != "" && known != version {
				err = w.kickForAgents(ctx, version)
			}
			if err == nil {
				known = version
			} else if ctx.Err() == nil {
				log.FromContext(ctx).Error(err, "compare what agents are to be, will try again")
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(agentsCompared):
			}
		}
	}))
}

// kickForAgents kicks every Kyma that has a remote cluster, each at its own share of the spread, and none before every
// worker has read the authorities again: with older ones it would change nothing, and nobody would kick once more.
func (w *watcher) kickForAgents(ctx context.Context, version string) error {
	var kymas v1beta2.KymaList
	if err := w.reader.List(ctx, &kymas, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the Kymas that have agents: %w", err)
	}
	known := w.Now().Add(agents.ReadEvery)
	for i := range kymas.Items {
		kyma := &kymas.Items[i]
		if !w.Settings.Ours(kyma.Labels) || desired.IsSyncedCopy(kyma) || !kyma.DeletionTimestamp.IsZero() ||
			!desired.SyncOf(kyma, w.Settings).Enabled {
			continue
		}
		turn := w.turn(kyma, version)
		if turn == nil || turn.Before(known) {
			turn = &known
		}
		k := kick.Kick{Reason: "what agents are to be changed", Kind: shared.KindWatcher, NotBefore: turn}
		if err := w.paced(ctx, func() error { return w.Kicks.Kyma(ctx, kick.RefOf(kyma), k) }); err != nil {
			return err
		}
	}
	return nil
}
