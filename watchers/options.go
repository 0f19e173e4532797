// Package watchers turns Kubernetes events into kicks of workflows. Only the leader watches.
//
//	kyma.go         a Kyma changed, is being deleted, or is gone
//	catalog.go      a ModuleTemplate or ModuleReleaseMeta changed: the Kymas whose modules resolve to it
//	rollout.go      ... one after the other: what concerns many Kymas must not delay the changes of one
//	release.go      a ModuleRollout released its version to further Kymas, or takes it back: these
//	modulerollout.go a ModuleRollout changed, or a cluster that it waits for
//	manifest.go     a Manifest changed, is being deleted, or is gone
//	secret.go       the access Secret of a cluster changed
//	sweeps.go       keeps the sweep workflows running
//	maintenance.go  the maintenance policy changed: the Kymas that wait for a window
//	pullsecret.go   the image pull Secret changed: every Kyma with a remote cluster, spread
//	agents.go       what agents in remote clusters are to be changed: every Kyma with a remote cluster, spread
//	routing.go      a Watcher changed, is being deleted, or is gone; all of them are compared once in each resync interval
//	istio.go       ... Gateways and VirtualServices of Istio that Watchers depend on
//	removalbudget.go the removal budget has room again: the Kymas that wait for it
//	sharing.go      the installation of a module changed that several Kymas share in the control plane
//
// Add is the entry point. A watcher decides whom to kick and nothing else: what writes is in package controllers, what
// exports metrics in package collectors. Events that our own status writes cause are filtered, and so is everything that
// a workflow has seen already: the digest of all inputs, which a reconcile records in the status, is computed again from
// the caches by the same function.
//
// A kick is the signal that notifies a workflow that something changed. It carries the reason and the resource version
// of what changed, never its content.
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

// Sender delivers kicks; *kick.Sender does.
type Sender interface {
	Kyma(ctx context.Context, ref kick.Ref, k kick.Kick) error
	Manifest(ctx context.Context, kyma, manifest kick.Ref, k kick.Kick) error
	Watcher(ctx context.Context, ref kick.Ref, k kick.Kick) error
	Rollout(ctx context.Context, ref kick.Ref, k kick.Kick) error
	OpenKyma(ctx context.Context, ref kick.Ref, k kick.Kick) error
	SignalOpen(ctx context.Context, workflowID string, k kick.Kick) error
}

// Inputs computes from the caches the digest that a reconcile records in a Kyma's status.
type Inputs interface {
	Digest(ctx context.Context, kyma *v1beta2.Kyma) (string, error)
}

// Unowned settles Manifests that no Kyma's workflow works on; *uninstall.Activities does.
type Unowned interface {
	SettleUnowned(ctx context.Context, manifest kick.Ref) error
}

// Evicter drops cached access to the cluster of a Kyma; *clusters.Registry does.
type Evicter interface {
	// Evict names the resourceVersion of the change: access that was read later has seen it and stays.
	Evict(namespace, kymaName, resourceVersion string)
}

// Options are what the watchers need.
type Options struct {
	Settings desired.Settings
	Kicks    Sender
	Inputs   Inputs
	Clusters Evicter
	Unowned  Unowned
	Sweeps   SweepStarter
	// Policies tells when the maintenance policy changes; nil where there is none to watch.
	Policies PolicySource
	// RemovalBudget tells which Kymas wait for it; nil where there is none.
	RemovalBudget RemovalBudget
	// PacedAtOnce is how many Kymas a change of the catalog may occupy at once; DefaultPacedAtOnce where it is zero.
	PacedAtOnce int
	// Certificates keeps the workflow running that rotates the authorities of agents' certificates; nil where there are none.
	Certificates CertificatesStarter
	// Agents is the version of what agents in remote clusters are to be; nil where there are none.
	Agents func(ctx context.Context) (string, error)
	// ResyncInterval is how often Watchers are compared with what they are to be; 5 minutes by default.
	ResyncInterval time.Duration
	// KickLimit paces all kicks of this process; 50 a second by default.
	KickLimit *rate.Limiter
	// Tracer makes the spans that traces begin with; by default there are none.
	Tracer trace.Tracer
	// Now is the clock; time.Now by default.
	Now func() time.Time
}

// DefaultPacedAtOnce is how many Kymas a change of the catalog occupies at once where nothing else is configured.
const DefaultPacedAtOnce = 10

// Add registers all watchers with a manager. They start when this process becomes the leader.
func Add(mgr manager.Manager, o Options) error {
	if o.Kicks == nil || o.Inputs == nil || o.Clusters == nil || o.Unowned == nil || o.Sweeps == nil {
		return errors.New("watchers: Kicks, Inputs, Clusters, Unowned and Sweeps must be given")
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

// watcher is what all watchers share.
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

// seen begins the span of an event that leads to a kick of a Kyma or Manifest.
func (w *watcher) seen(ctx context.Context, kind string, ref kick.Ref, k kick.Kick) (context.Context, trace.Span) {
	return w.Tracer.Start(ctx, "kick "+kind, trace.WithAttributes(
		attribute.String(logkey.Namespace, ref.Namespace), attribute.String(logkey.Name, ref.Name), attribute.String(logkey.Reason, k.Reason),
	))
}
