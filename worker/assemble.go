package worker

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	temporal "go.temporal.io/sdk/client"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/advance"
	"github.com/kyma-project/lifecycle-manager/activities/background"
	"github.com/kyma-project/lifecycle-manager/activities/install"
	"github.com/kyma-project/lifecycle-manager/activities/purge"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/status"
	"github.com/kyma-project/lifecycle-manager/activities/sweep"
	syncing "github.com/kyma-project/lifecycle-manager/activities/sync"
	crds "github.com/kyma-project/lifecycle-manager/deploy/crds"
	"github.com/kyma-project/lifecycle-manager/internal/events/certificates"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/budget"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/installations"
	"github.com/kyma-project/lifecycle-manager/internal/modules/apply"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/pullsecret"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/metrics"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts"
	"github.com/kyma-project/lifecycle-manager/internal/registry/signature"
)

// Parts are the dependencies of Assemble.
type Parts struct {
	// ControlPlane is the client configuration for the control plane, with the rate limits from the flags.
	ControlPlane *rest.Config
	Scheme       *runtime.Scheme
	// Cache serves the catalog, Secret metadata, Kymas and Manifests. Index must have been called for it.
	Cache cache.Cache
	// Informers are the informers from CacheOptions if the cache is limited to namespaces, or else nil.
	Informers *fleet.Informers
	Temporal  temporal.Client
	Events    record.EventRecorder
	Registry  prometheus.Registerer
	// Log is for facts without another record, such as objects that a purge forced.
	Log logr.Logger
	// Version is the version of this build (semver). It marks the objects that this build creates in remote clusters.
	Version string
	Config  Config
}

// Config holds the settings of an instance that activities depend on. They come from flags.
type Config struct {
	Settings       desired.Settings
	ResyncInterval time.Duration
	// MissingAPITimeout is apply.Options.MissingAPITimeout, StuckWorkloadTimeout is
	// install.Options.StuckWorkloadTimeout.
	MissingAPITimeout, StuckWorkloadTimeout time.Duration
	// SweepShards is the number of shards of the fleet. SweepConcurrency is the number of shards walked at once.
	SweepShards, SweepConcurrency int
	Limits                        clusters.Limits
	// Access permits features of remote kubeconfigs that are refused by default.
	Access    clusters.Allow
	Artifacts artifacts.Options
	// Windows decides when modules may have downtime. Nil means at any time.
	Windows resolve.Windows
	// Signatures defines which component descriptors must be signed.
	Signatures signature.Policy
	// RemoteTemplateRegistries are the registries that user-provided templates in remote clusters may use.
	RemoteTemplateRegistries []string
	// Removals limits the removals by one change of the catalog. RemovalBudget limits the number of clusters in which
	// modules are removed within a time window, for any cause.
	Removals      resolve.Limits
	RemovalBudget budget.Limits
	// WrapRemote, if not nil, wraps the transport to every remote cluster (see clusters.Options).
	WrapRemote func(cluster string, next http.RoundTripper) http.RoundTripper
	// PerClusterMetrics also exports metrics with one series per Manifest.
	PerClusterMetrics bool
	// PurgeRules defines which finalizers a purge may remove.
	PurgeRules purge.Rules
	// SameFailures is the number of clusters with the same failure that holds a rollout. NoApprovals is the reason
	// why rollouts accept no approvals (advance.Options).
	SameFailures int32
	NoApprovals  string
	// Prometheus answers the queries of rollouts. It is nil if none is configured.
	Prometheus advance.Prometheus
	// Certificates are the settings of agent certificates. Assemble adds the fields that it knows itself.
	Certificates certificates.Options
}

// Assembly is the result of Assemble.
type Assembly struct {
	Activities Activities
	Clusters   *clusters.Registry
	Kicks      *kick.Sender
	Inputs     desired.Inputs
	// Budget is the instance's removal budget.
	Budget  *budget.Budget
	known   *fleet.Fleet
	refused *metrics.Refused
	// Registries wakes workflows that wait for a registry.
	Registries *Registries
	// Work measures activities and requests to remote clusters.
	Work *Work
	// PullSecret is nil if no image pull Secret is configured.
	PullSecret *pullsecret.Source
	watching   watching
}

// Index registers the field indexes with which watchers and activities read the cache. Call it before the cache
// starts.
func Index(ctx context.Context, indexer client.FieldIndexer) error {
	if err := desired.RegisterIndexes(ctx, indexer); err != nil {
		return err
	}
	if err := desired.RegisterKymaIndex(ctx, indexer); err != nil {
		return err
	}
	if err := resolve.RegisterIndex(ctx, indexer); err != nil {
		return err
	}
	if err := fleet.RegisterRuntimeIDs(ctx, indexer); err != nil {
		return err
	}
	return fleet.Register(ctx, indexer)
}

// Assemble creates the activities and their shared dependencies. It makes no requests.
func Assemble(p Parts) (*Assembly, error) {
	controlPlane, err := client.New(p.ControlPlane, client.Options{Scheme: p.Scheme})
	if err != nil {
		return nil, fmt.Errorf("create the control plane client: %w", err)
	}
	controlPlane = installations.Client(controlPlane)
	work, err := NewWork(p.Registry, p.Config.PerClusterMetrics)
	if err != nil {
		return nil, err
	}
	known := fleet.New(p.Cache, p.Informers, controlPlane)
	access, err := clusters.New(clusters.Options{
		Fleet: known, ControlPlane: p.ControlPlane, Scheme: p.Scheme, Limits: p.Config.Limits, Allow: p.Config.Access,
		AccessSecretNamespace: p.Config.Settings.AccessSecretNamespace, WrapTransport: measured(work, p.Config.WrapRemote),
	})
	if err != nil {
		return nil, fmt.Errorf("prepare access to clusters: %w", err)
	}
	if err := registerCredentials(p.Registry, access, p.Config.PerClusterMetrics); err != nil {
		return nil, err
	}
	counter, err := metrics.NewKicks(p.Registry)
	if err != nil {
		return nil, err
	}
	a := &Assembly{
		Clusters: access,
		known:    known,
		Work:     work,
		Kicks:    kick.NewSender(p.Temporal, counter, known.TenantOf),
		Inputs:   desired.Inputs{Settings: p.Config.Settings, Index: desired.NewCached(p.Cache), Secrets: known},
	}
	a.Budget, err = budget.New(budget.Options{
		Settings: p.Config.Settings, Limits: p.Config.RemovalBudget, ControlPlane: controlPlane, Cache: p.Cache, Events: p.Events, NoApprovals: p.Config.NoApprovals,
	})
	if err != nil {
		return nil, err
	}
	signatures, err := signature.New(signature.Options{Policy: cmp.Or(p.Config.Signatures, signature.Ignore), Keys: controlPlane})
	if err != nil {
		return nil, fmt.Errorf("prepare the verification of signatures: %w", err)
	}
	if name := p.Config.Settings.ImagePullSecret; name != "" {
		if a.PullSecret, err = pullsecret.New(controlPlane, name, nil); err != nil {
			return nil, fmt.Errorf("prepare the image pull Secret: %w", err)
		}
		a.Inputs.PullSecret = a.PullSecret.Version
	}
	a.Inputs.Trusted = signatures.Fingerprint
	if p.Config.Artifacts.Counter, err = metrics.NewArtifacts(p.Registry); err != nil {
		return nil, err
	}
	store, err := artifacts.New(p.Config.Artifacts)
	if err != nil {
		return nil, fmt.Errorf("prepare the artifact store: %w", err)
	}
	a.Registries = &Registries{Store: store, Kicks: a.Kicks, Manifests: p.Cache, Log: p.Log.WithName("registries")}
	if err := a.assembleWatching(p, controlPlane); err != nil {
		return nil, fmt.Errorf("assemble the event path from remote clusters: %w", err)
	}
	purges, err := assemblePurges(p, controlPlane)
	if err != nil {
		return nil, fmt.Errorf("assemble the purge recorder: %w", err)
	}
	if a.refused, err = metrics.NewRefused(p.Registry); err != nil {
		return nil, err
	}
	if err := a.assembleKymaSide(p, controlPlane, store, signatures, purges); err != nil {
		return nil, fmt.Errorf("assemble the activities for Kymas: %w", err)
	}
	if err := a.assembleManifestSide(p, controlPlane, store, purges); err != nil {
		return nil, fmt.Errorf("assemble the activities for Manifests: %w", err)
	}
	a.Activities.Background = background.New(a.Activities.Sync, a.Activities.Resolve, a.Activities.Manifests.Install, a.Activities.Status)
	a.Activities.Advance, err = advance.New(advance.Options{
		Settings: p.Config.Settings, ControlPlane: controlPlane, Informers: p.Cache,
		SameFailures: p.Config.SameFailures, NoApprovals: p.Config.NoApprovals, Prometheus: p.Config.Prometheus, Events: p.Events,
	})
	if err != nil {
		return nil, fmt.Errorf("assemble the activities for rollouts: %w", err)
	}
	return a, nil
}

func (a *Assembly) assembleKymaSide(p Parts, controlPlane client.Client, store *artifacts.Store, signatures *signature.Verifier, purges *purge.Recorder) error {
	var err error
	resolveOptions := resolve.Options{
		Settings: p.Config.Settings, ControlPlane: controlPlane, Catalog: p.Cache, Known: a.known,
		Descriptors: store, Objects: store, Signatures: signatures, Fleet: p.Cache, Windows: p.Config.Windows, Limits: p.Config.Removals, Events: p.Events, Refused: a.refused,
		PullSecret: a.Inputs.PullSecret, Clusters: a.Clusters, Budget: a.Budget,
	}
	if a.watching.agents != nil {
		resolveOptions.Agents, resolveOptions.Certificates = a.watching.agents, removing{a.watching.issuer}
	}
	if a.Activities.Resolve, err = resolve.New(resolveOptions); err != nil {
		return err
	}
	planner, err := resolve.NewPlanner(resolveOptions)
	if err != nil {
		return err
	}
	definitions, err := crds.Get(crds.Kymas, crds.ModuleTemplates, crds.ModuleReleaseMetas)
	if err != nil {
		return err
	}
	syncOptions := syncing.Options{
		Settings: p.Config.Settings, ControlPlane: controlPlane, Catalog: p.Cache, Known: a.known, Clusters: a.Clusters,
		Definitions: definitions, Version: p.Version, RemoteTemplateRegistries: p.Config.RemoteTemplateRegistries,
		Purges: purges, PurgeRules: p.Config.PurgeRules, Events: p.Events, Plan: a.Activities.Resolve.Plan,
	}
	if a.watching.issuer != nil {
		syncOptions.Certificates = a.watching.issuer
	}
	if a.PullSecret != nil {
		syncOptions.PullSecret = a.PullSecret
	}
	if a.Activities.Sync, err = syncing.New(syncOptions); err != nil {
		return err
	}
	a.Activities.Status, err = status.New(status.Options{
		Settings: p.Config.Settings, ControlPlane: controlPlane, Known: a.known, Planner: planner, Clusters: a.Clusters, Events: p.Events, Purges: purges,
	})
	return err
}

// assemblePurges creates the recorder of objects that purges force.
func assemblePurges(p Parts, controlPlane client.Client) (*purge.Recorder, error) {
	counter, err := metrics.NewPurges(p.Registry)
	if err != nil {
		return nil, err
	}
	recorder := purge.NewRecorder(controlPlane)
	recorder.Counter, recorder.Log = counter, p.Log.WithName("purge")
	return recorder, nil
}

func (a *Assembly) assembleManifestSide(p Parts, controlPlane client.Client, store *artifacts.Store, purges *purge.Recorder) error {
	drift, err := metrics.NewDrift(p.Registry)
	if err != nil {
		return err
	}
	a.Activities.Manifests, err = AssembleManifests(ManifestOptions{
		Steps: manifests.Options{
			ControlPlane: controlPlane, Clusters: a.Clusters, RemoteNamespace: p.Config.Settings.SyncNamespace,
			Events: p.Events, Drift: drift, Refused: a.refused, Settings: p.Config.Settings, Fleet: installations.Reader(p.Cache), Known: a.known,
			SignaturesRequired: p.Config.Signatures == signature.Require,
		},
		Apply:   apply.Options{Artifacts: store, MissingAPITimeout: p.Config.MissingAPITimeout},
		Install: install.Options{StuckWorkloadTimeout: p.Config.StuckWorkloadTimeout},
		Purge:   purge.Options{Purges: purges, PurgeRules: p.Config.PurgeRules, Budget: a.Budget},
	})
	if err != nil {
		return err
	}
	a.Activities.Sweep, err = sweep.New(sweep.Options{
		Interval: p.Config.ResyncInterval, Shards: p.Config.SweepShards, ShardsAtOnce: p.Config.SweepConcurrency, Ours: p.Config.Settings.Ours, PacingSpan: p.Config.Settings.PacingSpan,
		Fleet: installations.Reader(p.Cache), Live: controlPlane, Inputs: a.Inputs, Remote: a.Activities.Sync, Modules: a.Activities.Manifests.Drift, Marks: a.Activities.Manifests.Steps,
		Kicks: a.Kicks, Open: sweep.NewVisibility(p.Temporal, p.Config.ResyncInterval/4),
	})
	return err
}

// measured wraps the transport to a remote cluster with wrap, if not nil, and with the measurement of requests.
func measured(work *Work, wrap func(string, http.RoundTripper) http.RoundTripper) func(string, http.RoundTripper) http.RoundTripper {
	return func(cluster string, next http.RoundTripper) http.RoundTripper {
		if wrap != nil {
			next = wrap(cluster, next)
		}
		return work.Transport(next)
	}
}
