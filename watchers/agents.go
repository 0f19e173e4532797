package watchers

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/events/agents"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// agentsCompared is how often the leader checks whether the desired state of agents has changed.
const agentsCompared = 5 * time.Second

// addAgents wakes every synchronized Kyma when the desired state of agents changes: a Watcher, the listener's address
// or the authorities. One version string covers all three. The digest of each Kyma covers changes made while no leader
// was watching.
func (w *watcher) addAgents(mgr manager.Manager) error {
	if w.Agents == nil {
		return nil
	}
	// A RunnableFunc needs leader election by default.
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		known := ""
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			version, err := w.Agents(ctx)
			if err == nil && known != "" && known != version {
				err = w.kickForAgents(ctx, version)
			}
			if err == nil {
				known = version
			} else if ctx.Err() == nil {
				log.FromContext(ctx).Error(err, "check whether the desired state of agents has changed, will try again")
			}
		}, agentsCompared)
		return nil
	}))
}

// kickForAgents kicks every Kyma that has a remote cluster, each at its turn in the pacing span. No Kyma is kicked
// before every worker has read the authorities again. A worker with older authorities would change nothing, and no
// second kick would follow.
func (w *watcher) kickForAgents(ctx context.Context, version string) error {
	known := w.Now().Add(agents.ReadEvery)
	return w.kickSynchronized(ctx, "have agents", func(kyma *v1beta2.Kyma) kick.Kick {
		turn := w.turn(kyma, version)
		if turn == nil || turn.Before(known) {
			turn = &known
		}
		return kick.Kick{Reason: "the desired state of agents changed", Kind: shared.KindWatcher, NotBefore: turn}
	})
}

// kickSynchronized kicks every Kyma that has a remote cluster.
func (w *watcher) kickSynchronized(ctx context.Context, which string, about func(*v1beta2.Kyma) kick.Kick) error {
	var kymas v1beta2.KymaList
	if err := w.reader.List(ctx, &kymas, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the Kymas that %s: %w", which, err)
	}
	for i := range kymas.Items {
		kyma := &kymas.Items[i]
		if !w.isOurs(kyma) || !desired.SyncOf(kyma, w.Settings).Enabled {
			continue
		}
		k := about(kyma)
		if err := w.paced(ctx, func() error { return w.Kicks.Kyma(ctx, kick.RefOf(kyma), k) }); err != nil {
			return err
		}
	}
	return nil
}
