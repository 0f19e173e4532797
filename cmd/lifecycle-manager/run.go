package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/zapr"
	"github.com/spf13/cobra"
	temporal "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	temporallog "go.temporal.io/sdk/log"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/kyma-project/lifecycle-manager/activities/clusters"
	"github.com/kyma-project/lifecycle-manager/activities/fleet"
	"github.com/kyma-project/lifecycle-manager/activities/purge"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/signature"
	"github.com/kyma-project/lifecycle-manager/activities/windows"
	"github.com/kyma-project/lifecycle-manager/watchers"
	"github.com/kyma-project/lifecycle-manager/watchers/collectors"
	"github.com/kyma-project/lifecycle-manager/watchers/controllers"
	"github.com/kyma-project/lifecycle-manager/worker"
)

func newRunCommand() *cobra.Command {
	f := &flags{}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run watchers and workers, or one of them",
		Long: `Run watchers and workers, or one of them (--role).

The connection to Temporal comes from the environment, as for every Temporal SDK: TEMPORAL_ADDRESS,
TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, TEMPORAL_TLS_* or a configuration file named by TEMPORAL_CONFIG_FILE.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return fmt.Errorf("%w: %w", errUsage, err)
			}
			return run(cmd.Context(), f, instanceSettings(cmd.Flags()))
		},
	}
	f.groups().addTo(cmd)
	return cmd
}

// connectTimeout bounds the first connection to Temporal.
const connectTimeout = 30 * time.Second

// run runs until ctx is done. Settings are those of the instance as the flags have them.
func run(ctx context.Context, f *flags, settings map[string]string) error {
	log, err := newLogger(f.logLevel)
	if err != nil {
		return err
	}
	ctrl.SetLogger(log)
	temporalClient, namespace, err := connectTemporal(ctx, log)
	if err != nil {
		return err
	}
	defer temporalClient.Close()
	// A workflow that upserts an unregistered one would be stuck, so nothing starts before.
	if _, err := worker.EnsureSearchAttributes(ctx, temporalClient, namespace); err != nil {
		return err
	}

	mgr, err := newManager(f)
	if err != nil {
		return err
	}
	if err := worker.Index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	artifactOptions, err := artifactOptions(ctx, f, mgr.GetAPIReader())
	if err != nil {
		return err
	}
	policies, err := f.maintenance.source(metrics.Registry, log)
	if err != nil {
		return err
	}
	assembly, err := worker.Assemble(worker.Parts{
		ControlPlane: mgr.GetConfig(), Scheme: mgr.GetScheme(), Cache: mgr.GetCache(), Temporal: temporalClient,
		Events:   mgr.GetEventRecorderFor("lifecycle-manager"), //nolint:staticcheck // the events API that kubectl describe shows
		Registry: metrics.Registry, Version: version, Log: log,
		Config: worker.Config{
			Settings: f.settings, ResyncInterval: f.resyncInterval, MissingAPITimeout: f.missingAPITimeout, StuckWorkloadTimeout: f.stuckWorkloadTimeout, SweepShards: f.sweepShards, SweepConcurrency: f.sweepConcurrency,
			Access:   f.access.allowed(),
			Limits:   clusters.Limits{QPS: f.remoteQPS, Burst: f.remoteBurst, Concurrency: f.remoteConcurrency},
			Removals: f.removals, PurgeRules: purge.Rules{Never: f.neverPurged},
			Windows: resolve.PolicyWindows{Policies: policies, MinSize: f.maintenance.minSize, Now: time.Now},

			Signatures: signature.Policy(f.signaturePolicy), RemoteTemplateRegistries: f.remoteTemplateRegistries,
			Artifacts: artifactOptions, PerClusterMetrics: f.perClusterMetrics,
		},
	})
	if err != nil {
		return err
	}
	if err := assembly.Clusters.Follow(ctx, mgr.GetCache(), fleet.SecretMetadata()); err != nil {
		return err
	}
	agreement, err := addAgreement(mgr, f, log, func() map[string]string {
		own := maps.Clone(settings)
		own[settingPolicy] = policies.Digest()
		return own
	})
	if err != nil {
		return err
	}
	if err := addRoles(ctx, mgr, f, temporalClient, assembly, policies, agreement); err != nil {
		return err
	}
	link, err := worker.NewLink(temporalClient, namespace, f.role != roleWatchers, metrics.Registry, log.WithName("temporal"))
	if err != nil {
		return err
	}
	if err := addProbes(mgr, link); err != nil {
		return err
	}
	if err := addLeaderStatus(mgr, f, agreement, link, log); err != nil {
		return err
	}
	log.Info("starting", "version", version, "role", f.role, "mode", f.mode, "temporalNamespace", namespace)
	return mgr.Start(ctx)
}

// addRoles adds what this process is to do.
func addRoles(ctx context.Context, mgr manager.Manager, f *flags, temporalClient temporal.Client, a *worker.Assembly, policies *windows.Source, settings *agreement) error {
	if f.role != roleWorkers {
		err := watchers.Add(mgr, watchers.Options{
			Settings: f.settings, Kicks: a.Kicks, Inputs: a.Inputs, Clusters: a.Clusters,
			Sweeps:   watchers.TemporalSweeps{Temporal: temporalClient, Interval: f.resyncInterval, Shards: f.sweepShards},
			Policies: policies, RolloutAtOnce: f.rolloutAtOnce,
		})
		if err != nil {
			return err
		}
		if err := controllers.Add(mgr, f.settings); err != nil {
			return err
		}
		if err := f.webhook.add(ctx, mgr, f.settings); err != nil {
			return err
		}
		if err := metrics.Registry.Register(collectors.NewCatalog(mgr.GetCache(), mgr.Elected(), f.settings)); err != nil {
			return fmt.Errorf("register the catalog's metrics: %w", err)
		}
		if f.perClusterMetrics {
			states, err := collectors.NewStates(ctx, mgr.GetCache(), mgr.Elected(), f.settings)
			if err != nil {
				return err
			}
			if err := metrics.Registry.Register(states); err != nil {
				return fmt.Errorf("register the state metrics: %w", err)
			}
		}
	}
	if f.role != roleWatchers {
		workers := worker.New(temporalClient, worker.Options{
			Activities:  a.Activities,
			Work:        a.Work,
			Slots:       worker.Slots{Workflow: f.workflowSlots, ControlPlane: f.controlPlaneSlots, Remote: f.remoteSlots, Background: f.backgroundSlots, Sweep: f.sweepConcurrency},
			StopTimeout: f.stopTimeout,
			Version:     version,
		})
		return mgr.Add(onAgreement{Runnable: workers, reached: settings.reached})
	}
	return nil
}

// addAgreement lets this process work only with the settings of its instance.
func addAgreement(mgr manager.Manager, f *flags, log logr.Logger, own func() map[string]string) (*agreement, error) {
	// Uncached: the record is one object, and a cache would follow all ConfigMaps.
	live, err := client.New(mgr.GetConfig(), client.Options{Scheme: mgr.GetScheme()})
	if err != nil {
		return nil, fmt.Errorf("make the client for the instance's settings: %w", err)
	}
	elected := mgr.Elected()
	if f.role == roleWorkers {
		elected = nil
	}
	a, err := newAgreement(live, recordOf(f), own, elected, metrics.Registry, log.WithName("settings"))
	if err != nil {
		return nil, err
	}
	if err := mgr.Add(a); err != nil {
		return nil, err
	}
	return a, mgr.AddReadyzCheck("settings", a.Check)
}

// addLeaderStatus makes the leader say beside the settings of the instance whether it works.
func addLeaderStatus(mgr manager.Manager, f *flags, settings *agreement, link *worker.Link, log logr.Logger) error {
	if f.role == roleWorkers {
		return nil
	}
	return mgr.Add(&leaderStatusWriter{
		client: settings.client, key: settings.key, instance: f.settings.WithDefaults().ManagedBy,
		problem: link.Problem, now: time.Now, log: log.WithName("leader-status"),
	})
}

// addProbes makes the process healthy while it runs, and ready while its caches are filled and its link to Temporal
// works.
func addProbes(mgr manager.Manager, link *worker.Link) error {
	if err := mgr.Add(link); err != nil {
		return err
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("caches", func(req *http.Request) error {
		ctx, cancel := context.WithTimeout(req.Context(), time.Second)
		defer cancel()
		if !mgr.GetCache().WaitForCacheSync(ctx) {
			return fmt.Errorf("caches are not filled yet")
		}
		return nil
	}); err != nil {
		return err
	}
	return mgr.AddReadyzCheck("temporal", link.Check)
}

// connectTemporal connects as the environment says and returns the client and its namespace.
func connectTemporal(ctx context.Context, log logr.Logger) (temporal.Client, string, error) {
	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return nil, "", fmt.Errorf("read the Temporal configuration from the environment: %w", err)
	}
	if options.Namespace == "" {
		options.Namespace = temporal.DefaultNamespace
	}
	options.Logger = temporallog.NewStructuredLogger(slogFrom(log.WithName("temporal")))
	if options.MetricsHandler, err = worker.MetricsHandler(metrics.Registry); err != nil {
		return nil, "", err
	}
	failures, err := worker.NewTaskFailures(metrics.Registry, log.WithName("temporal"))
	if err != nil {
		return nil, "", err
	}
	options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions, grpc.WithChainUnaryInterceptor(failures.Intercept))
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	connected, err := temporal.DialContext(ctx, options)
	if err != nil {
		return nil, "", fmt.Errorf("connect to Temporal at %s: %w", options.HostPort, err)
	}
	return connected, options.Namespace, nil
}

// newLogger logs structured lines at the given level.
func newLogger(level string) (logr.Logger, error) {
	parsed, err := zap.ParseAtomicLevel(level)
	if err != nil {
		return logr.Logger{}, fmt.Errorf("--log-level: %w", err)
	}
	config := zap.NewProductionConfig()
	config.Level = parsed
	config.DisableStacktrace = true
	config.EncoderConfig.EncodeTime = isoTime
	built, err := config.Build()
	if err != nil {
		return logr.Logger{}, fmt.Errorf("make the logger: %w", err)
	}
	return zapr.NewLogger(built), nil
}
