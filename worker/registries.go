package worker

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts"
)

const (
	// reasonRegistry is the reason of the kicks. It is the value of a metric label.
	reasonRegistry = "a registry has what it lacked"
	// wakeApart is the time between the kicks of workflows that wait for the same layer, so that thousands do not act
	// at once.
	wakeApart = 20 * time.Millisecond
)

// Registries wakes workflows that wait for a registry as soon as the registry serves the missing artifact. Each
// process does this for artifacts that its own workers could not fetch.
type Registries struct {
	// Store polls the registries.
	Store interface {
		Watch(ctx context.Context, wake func(ctx context.Context, waiters []artifacts.Waiter))
	}
	// Kicks signals the open run of a workflow.
	Kicks interface {
		SignalOpen(ctx context.Context, workflowID string, k kick.Kick) error
	}
	// Manifests lists Manifests from a cache.
	Manifests client.Reader
	Log       logr.Logger
}

// Start wakes workflows until ctx is done. It implements manager.Runnable.
func (r *Registries) Start(ctx context.Context) error {
	r.wake(ctx, r.waiting(ctx))
	r.Store.Watch(ctx, r.wake)
	return nil
}

// NeedLeaderElection returns false: every process fetches artifacts for itself.
func (r *Registries) NeedLeaderElection() bool { return false }

// waiting returns the Manifests that waited for a registry in an earlier process, which may have ended. Their
// workflows try once. If that fails, this process polls the registry for them.
func (r *Registries) waiting(ctx context.Context) []artifacts.Waiter {
	var all v1beta2.ManifestList
	if err := r.Manifests.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		r.Log.Error(err, "cannot list the Manifests that wait for a registry; their workflows retry with backoff")
		return nil
	}
	var waiting []artifacts.Waiter
	for i := range all.Items {
		m := &all.Items[i]
		if last := m.Status.LastOperation; last != nil && artifacts.MayPass(last.Reason) {
			waiting = append(waiting, artifacts.Waiter{Workflow: kick.KymaWorkflowID(manifests.KymaRefOf(m)), Manifest: kick.RefOf(m)})
		}
	}
	return waiting
}

// wake kicks the waiters, one every wakeApart.
func (r *Registries) wake(ctx context.Context, waiters []artifacts.Waiter) {
	began := time.Now()
	for i, waiter := range waiters {
		id, k := waiter.Workflow, kick.Kick{Reason: reasonRegistry}
		if m := waiter.Manifest; m.UID != "" {
			k.Kind, k.Work, k.Namespace, k.Name, k.UID = shared.KindOfInstallation(m.Name), true, m.Namespace, m.Name, m.UID
		}
		if i > 0 {
			at := began.Add(time.Duration(i) * wakeApart).UTC().Truncate(time.Millisecond)
			k.NotBefore = &at
		}
		if err := r.Kicks.SignalOpen(ctx, id, k); err != nil && ctx.Err() == nil {
			r.Log.Error(err, "cannot wake a workflow that waits for a registry; it retries with backoff", logkey.WorkflowID, id)
		}
	}
}
