// Package watchers turns Kubernetes events in the control plane into kicks of workflows. Only the leader watches.
//
// A kick is the signal that notifies a workflow that something changed. It carries the reason and the resourceVersion
// of the changed object, never its content. Add registers all watchers with a controller-runtime manager:
//
//	err := watchers.Add(mgr, watchers.Options{Settings: settings, Kicks: sender, Inputs: inputs, ...})
//
// One file per source of events:
//
//	kyma.go          a Kyma changed, is being deleted, or is gone
//	catalog.go       a ModuleTemplate or ModuleReleaseMeta changed: kicks the Kymas whose modules resolve to it
//	pacing.go        spreads catalog changes over time, so that they do not delay the changes of a single Kyma
//	release.go       a ModuleRollout released its version to further Kymas, or takes it back: kicks these Kymas
//	modulerollout.go a ModuleRollout changed, or a cluster that it waits for
//	manifest.go      a Manifest changed, is being deleted, or is gone
//	secret.go        the access Secret of a cluster changed
//	sweeps.go        keeps the sweep workflows running
//	maintenance.go   the maintenance policy changed: kicks the Kymas that wait for a window
//	pullsecret.go    the image pull Secret changed: kicks every Kyma with a remote cluster, spread over time
//	agents.go        the desired state of agents changed: kicks every Kyma with a remote cluster, spread over time
//	routing.go       a Watcher changed, is being deleted, or is gone; also compares all Watchers once per resync interval
//	istio.go         Istio Gateways and VirtualServices that Watchers depend on
//	removalbudget.go the removal budget has room again: kicks the Kymas that wait for it
//	sharing.go       the installation of a module that several Kymas share in the control plane changed
//
// Invariants:
//   - A watcher only decides whom to kick. Controllers that write are in package controllers, metrics in package
//     collectors.
//   - Our own status writes cause no kicks. The watcher recomputes the digest of all inputs from the caches, with the
//     function that a reconcile uses to record it in the status, and kicks only if the digests differ.
//   - Losing an event costs time, nothing else: digests and the sweep find what a watcher missed.
package watchers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"golang.org/x/time/rate"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/installations"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
)

// Sender delivers kicks. It is implemented by *kick.Sender.
type Sender interface {
	Kyma(ctx context.Context, ref kick.Ref, k kick.Kick) error
	Manifest(ctx context.Context, kyma, manifest kick.Ref, k kick.Kick) error
	Watcher(ctx context.Context, ref kick.Ref, k kick.Kick) error
	Rollout(ctx context.Context, ref kick.Ref, k kick.Kick) error
	OpenKyma(ctx context.Context, ref kick.Ref, k kick.Kick) error
	SignalOpen(ctx context.Context, workflowID string, k kick.Kick) error
}

// Inputs computes, from the caches, the digest that a reconcile records in a Kyma's status.
type Inputs interface {
	Digest(ctx context.Context, kyma *v1beta2.Kyma) (string, error)
}

// Unowned settles Manifests that belong to no Kyma's workflow. It is implemented by *uninstall.Activities.
type Unowned interface {
	SettleUnowned(ctx context.Context, manifest kick.Ref) error
}

// Evicter drops cached access to the cluster of a Kyma. It is implemented by *clusters.Registry.
type Evicter interface {
	// Evict takes the resourceVersion of the change. Access that was read at this version or later stays cached.
	Evict(namespace, kymaName, resourceVersion string)
}

// Options configure the watchers.
type Options struct {
	Settings desired.Settings
	Kicks    Sender
	Inputs   Inputs
	Clusters Evicter
	Unowned  Unowned
	Sweeps   SweepStarter
	// Policies is the source of the maintenance policy; nil if there is no policy to watch.
	Policies PolicySource
	// RemovalBudget returns the Kymas that wait for the removal budget; nil if there is no budget.
	RemovalBudget RemovalBudget
	// PacedAtOnce is how many Kymas a catalog change may occupy at once; DefaultPacedAtOnce if zero.
	PacedAtOnce int
	// Certificates keeps the workflow running that rotates the authorities of agents' certificates; nil without agents.
	Certificates CertificatesStarter
	// Agents returns the version of the desired state of agents; nil without agents.
	Agents func(ctx context.Context) (string, error)
	// ResyncInterval is how often the leader compares Watchers with their desired state; 5 minutes by default.
	ResyncInterval time.Duration
	// KickLimit limits the rate of all kicks of this process; 50 per second by default.
	KickLimit *rate.Limiter
	// Tracer starts the root spans of traces; no tracing by default.
	Tracer trace.Tracer
	// Now is the clock; time.Now by default.
	Now func() time.Time
}

// DefaultPacedAtOnce is the default of Options.PacedAtOnce.
const DefaultPacedAtOnce = 10

// Add registers all watchers with a manager. They start when this process becomes the leader.
func Add(mgr manager.Manager, o Options) error {
	if o.Kicks == nil || o.Inputs == nil || o.Clusters == nil || o.Unowned == nil || o.Sweeps == nil {
		return errors.New("watchers: Kicks, Inputs, Clusters, Unowned and Sweeps must not be nil")
	}
	o = o.withDefaults()
	w := &watcher{Options: o, reader: installations.Reader(mgr.GetCache()), pacer: newPacer(o.PacedAtOnce, o.Now)}
	for _, add := range []func(manager.Manager) error{w.addKymas, w.addPacing, w.addManifests, w.addSecrets, w.addSweeps, w.addMaintenance, w.addPullSecret, w.addAgents, w.addSharing, w.addRouting, w.addModuleRollouts, w.addRemovalBudget} {
		if err := add(mgr); err != nil {
			return fmt.Errorf("add watcher: %w", err)
		}
	}
	return nil
}

func (o Options) withDefaults() Options {
	if o.KickLimit == nil {
		o.KickLimit = rate.NewLimiter(50, 50)
	}
	if o.Tracer == nil {
		o.Tracer = noop.NewTracerProvider().Tracer("")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.ResyncInterval = cmp.Or(o.ResyncInterval, compareWatchersEvery)
	o.PacedAtOnce = cmp.Or(o.PacedAtOnce, DefaultPacedAtOnce)
	o.Settings = o.Settings.WithDefaults()
	return o
}

// watcher holds the state that all watchers share.
type watcher struct {
	Options
	reader client.Reader
	pacer  *pacer
}

// paced waits for the rate limit, then sends.
func (w *watcher) paced(ctx context.Context, send func() error) error {
	if err := w.KickLimit.Wait(ctx); err != nil {
		return fmt.Errorf("wait for the kick limit: %w", err)
	}
	return send()
}

// seen starts the span of an event that leads to a kick.
func (w *watcher) seen(ctx context.Context, kind string, ref kick.Ref, k kick.Kick) (context.Context, trace.Span) {
	return w.Tracer.Start(ctx, "kick "+kind, trace.WithAttributes(
		attribute.String(logkey.Namespace, ref.Namespace), attribute.String(logkey.Name, ref.Name), attribute.String(logkey.Reason, k.Reason),
	))
}
