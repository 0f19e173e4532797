package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	temporal "go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/kyma-project/lifecycle-manager/activities/purge"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/routing"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/agreement"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/atwork"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/connection"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/logs"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/settings"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/watching"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/model/windows"
	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
	"github.com/kyma-project/lifecycle-manager/internal/registry/signature"
	"github.com/kyma-project/lifecycle-manager/watchers"
	"github.com/kyma-project/lifecycle-manager/watchers/collectors"
	"github.com/kyma-project/lifecycle-manager/watchers/controllers"
	"github.com/kyma-project/lifecycle-manager/watchers/storedversions"
	"github.com/kyma-project/lifecycle-manager/worker"
	"github.com/kyma-project/lifecycle-manager/worker/deployment"
	"github.com/kyma-project/lifecycle-manager/worker/tracing"
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
			if err := f.read(cmd.Flags()); err != nil {
				return fmt.Errorf("%w: %w", errUsage, err)
			}
			return run(cmd.Context(), f, cmd.Flags())
		},
	}
	f.groups().AddTo(cmd)
	return cmd
}

// connectTimeout bounds the first connection to Temporal.
const connectTimeout = connection.Timeout

// run runs until ctx is done, as the flags in a set say, which are read and checked.
func run(ctx context.Context, f *flags, set *pflag.FlagSet) error {
	log, err := logs.New(f.logLevel, f.logFormat, os.Stderr)
	if err != nil {
		return err
	}
	logs.LogEverything(log)
	settings.WarnOfIgnored(set, log)
	watching.WarnOfUnused(set, log)
	traces, err := tracing.New(ctx, version, log.WithName("traces"))
	if err != nil {
		return err
	}
	defer traces.Stop() //nolint:contextcheck // ctx is done by then, and what was traced is still to be sent
	toTemporal, err := connection.Options()
	if err != nil {
		return err
	}
	namespace := toTemporal.Namespace
	temporalClient, err := connectTemporal(ctx, toTemporal, log, traces)
	if err != nil {
		return err
	}
	defer temporalClient.Close()
	controlPlane, err := connection.ControlPlane(f.kubeconfig, "")
	if err != nil {
		return err
	}
	worker.MeasureClients(controlPlane)
	live, err := mayStart(ctx, f, temporalClient, namespace)
	if err != nil {
		return err
	}
	if err := f.takeRegistry(ctx, live); err != nil {
		return err
	}
	// A workflow that upserts an unregistered one would be stuck, so nothing starts before.
	if _, err := worker.EnsureSearchAttributes(ctx, temporalClient, namespace); err != nil {
		return err
	}

	mgr, informers, err := newManager(f, traces)
	if err != nil {
		return err
	}
	if err := routing.CheckIstio(f.settings, mgr.GetRESTMapper()); err != nil {
		return err
	}
	if err := worker.Index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	artifactOptions, err := artifactOptions(ctx, f, mgr.GetAPIReader())
	if err != nil {
		return err
	}
	if err := thisBuild().register(metrics.Registry); err != nil {
		return err
	}
	if err := f.showCertificates(controlPlane, toTemporal.ConnectionOptions.TLS); err != nil {
		return err
	}
	policies, err := f.maintenance.source(metrics.Registry, log)
	if err != nil {
		return err
	}
	prometheus, err := f.analysing.Prometheus()
	if err != nil {
		return err
	}
	assembly, err := worker.Assemble(worker.Parts{
		ControlPlane: mgr.GetConfig(), Scheme: mgr.GetScheme(), Cache: mgr.GetCache(), Informers: informers, Temporal: temporalClient,
		Events:   mgr.GetEventRecorderFor("lifecycle-manager"), //nolint:staticcheck // the events API that kubectl describe shows
		Registry: metrics.Registry, Version: version, Log: log,
		Config: worker.Config{
			Settings: f.settings, ResyncInterval: f.resyncInterval, MissingAPITimeout: f.missingAPITimeout, StuckWorkloadTimeout: f.stuckWorkloadTimeout, SweepShards: f.sweepShards, SweepConcurrency: f.sweepConcurrency,
			Access:   f.access.allowed(),
			Limits:   clusters.Limits{QPS: f.remoteQPS, Burst: f.remoteBurst, Concurrency: f.remoteConcurrency},
			Removals: f.removals, RemovalBudget: f.removalBudget, PurgeRules: purge.Rules{Never: f.neverPurged},
			SameFailures: f.sameFailures, NoApprovals: f.webhook.noApprovals(), Prometheus: prometheus,
			Windows: resolve.PolicyWindows{Policies: policies, MinSize: f.maintenance.minSize, Now: time.Now},

			Signatures: signature.Policy(f.signaturePolicy), RemoteTemplateRegistries: f.remoteTemplateRegistries,
			Certificates: f.watching.Certificates(),
			Artifacts:    artifactOptions, PerClusterMetrics: f.perClusterMetrics, WrapRemote: traces.Remote,
		},
	})
	if err != nil {
		return err
	}
	if err := assembly.Clusters.Follow(ctx, mgr.GetCache(), fleet.SecretMetadata()); err != nil {
		return err
	}
	ownFlags := instanceSettings(set)
	agreed, err := addAgreement(mgr, f, live, log, func() map[string]string {
		own := maps.Clone(ownFlags)
		own[agreement.SettingPolicy] = policies.Digest()
		return own
	})
	if err != nil {
		return err
	}
	workflows, err := addRoles(ctx, mgr, f, traces, temporalClient, namespace, assembly, policies, agreed)
	if err != nil {
		return err
	}
	link, err := worker.NewLink(temporalClient, namespace, f.role != roleWatchers, metrics.Registry, log.WithName("temporal"))
	if err != nil {
		return err
	}
	if err := addProbes(mgr, link); err != nil {
		return err
	}
	if err := addLeaderStatus(mgr, f, live, link, workflows, log); err != nil {
		return err
	}
	log.Info("starting", logkey.Version, version, logkey.Commit, commit, logkey.BuildID, thisBuild().BuildID,
		logkey.Role, f.role, logkey.Mode, f.mode, logkey.TemporalNamespace, namespace)
	return mgr.Start(ctx)
}

// addRoles adds what this process is to do. It returns what asks Temporal about workflows, nil in a process that only works.
func addRoles(ctx context.Context, mgr manager.Manager, f *flags, traces *tracing.Tracing, temporalClient temporal.Client, namespace string, a *worker.Assembly, policies *windows.Source, agreed *agreement.Agreement) (workflows *collectors.Workflows, err error) {
	if f.role != roleWorkers {
		options := watchers.Options{
			Settings: f.settings, Kicks: a.Kicks, Inputs: a.Inputs, Clusters: a.Clusters, Agents: a.Inputs.Agents, Unowned: a.Activities.Manifests.Uninstall,
			Sweeps:   watchers.TemporalSweeps{Temporal: temporalClient, Interval: f.resyncInterval, Shards: f.sweepShards},
			Policies: policies, PacedAtOnce: f.pacedAtOnce, ResyncInterval: f.resyncInterval, Tracer: traces.Tracer(), RemovalBudget: a.Budget,
		}
		if f.settings.Watching.Enabled() {
			options.Certificates = watchers.TemporalCertificates{Temporal: temporalClient}
		}
		if err := watchers.Add(mgr, options); err != nil {
			return nil, err
		}
		if err := f.watching.Listen(mgr, f.settings, a.Kicks); err != nil {
			return nil, err
		}
		if err := controllers.Add(mgr, f.settings, f.analysing.Configured(), a.Budget); err != nil {
			return nil, err
		}
		if err := mgr.Add(deploymentLeader(f, temporalClient, namespace, mgr.GetLogger())); err != nil {
			return nil, err
		}
		if err := storedversions.Add(mgr); err != nil {
			return nil, err
		}
		if err := f.webhook.add(ctx, mgr, f.settings); err != nil {
			return nil, err
		}
		workflows, err = collectors.Add(ctx, mgr, metrics.Registry, f.settings, collectors.WorkflowsOptions{
			Temporal: temporalClient.WorkflowService(), Namespace: namespace, Shards: f.sweepShards, Interval: f.resyncInterval,
		}, f.perClusterMetrics)
		if err != nil {
			return nil, err
		}
	}
	if f.role != roleWatchers {
		workers := worker.New(temporalClient, worker.Options{
			Activities:  a.Activities,
			Work:        a.Work,
			Slots:       worker.Slots{Workflow: f.workflowSlots, ControlPlane: f.controlPlaneSlots, Remote: f.remoteSlots, Background: f.backgroundSlots, Sweep: f.sweepConcurrency},
			StopTimeout: f.stopTimeout,
			BuildID:     thisBuild().BuildID,
			Versioned:   f.workerVersioning,
		})
		if err := mgr.Add(agreement.Gate{Runnable: a.Registries, Reached: agreed.Reached()}); err != nil {
			return nil, err
		}
		return workflows, mgr.Add(agreement.Gate{Runnable: workers, Reached: agreed.Reached()})
	}
	return workflows, nil
}

// deploymentLeader gives the work to the workers of this build. It runs also where they are not versioned: they get nothing
// while a version is the current one.
func deploymentLeader(f *flags, temporalClient temporal.Client, namespace string, log logr.Logger) *deployment.Leader {
	leader := &deployment.Leader{Deployment: workerDeployment(temporalClient, namespace), Ramp: f.workerRamp, Log: log.WithName("worker-deployment")}
	if f.workerVersioning {
		leader.BuildID = thisBuild().BuildID
	}
	return leader
}

// workerDeployment is the worker deployment in a Temporal namespace.
func workerDeployment(temporalClient temporal.Client, namespace string) deployment.Deployment {
	return deployment.Deployment{Temporal: temporalClient.WorkflowService(), Namespace: namespace, Identity: identity(), Now: time.Now}
}

// addAgreement lets this process work only with the settings of its instance.
func addAgreement(mgr manager.Manager, f *flags, live client.Client, log logr.Logger, own func() map[string]string) (*agreement.Agreement, error) {
	elected := mgr.Elected()
	if f.role == roleWorkers {
		elected = nil
	}
	a, err := agreement.New(live, recordOf(f), own, elected, metrics.Registry, log.WithName("settings"))
	if err != nil {
		return nil, err
	}
	if err := mgr.Add(a); err != nil {
		return nil, err
	}
	return a, mgr.AddReadyzCheck("settings", a.Check)
}

// addLeaderStatus makes the leader say beside the settings of the instance whether it works.
func addLeaderStatus(mgr manager.Manager, f *flags, live client.Client, link *worker.Link, workflows *collectors.Workflows, log logr.Logger) error {
	if f.role == roleWorkers {
		return nil
	}
	return mgr.Add(&atwork.Writer{
		Client: live, Key: recordOf(f), Instance: f.settings.WithDefaults().ManagedBy,
		Problem: link.Problem, Held: workflows.Held, Now: time.Now, Log: log.WithName("leader-status"),
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

// connectTemporal connects with these options, and what this process adds to them.
func connectTemporal(ctx context.Context, options temporal.Options, log logr.Logger, traces *tracing.Tracing) (temporal.Client, error) {
	var err error
	options.Identity = identity()
	options.Interceptors = traces.Interceptors()
	options.Logger = logs.Temporal(log.WithName("temporal"))
	if options.MetricsHandler, err = worker.MetricsHandler(metrics.Registry); err != nil {
		return nil, err
	}
	failures, err := worker.NewTaskFailures(metrics.Registry, log.WithName("temporal"))
	if err != nil {
		return nil, err
	}
	options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions, grpc.WithChainUnaryInterceptor(failures.Intercept))
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	return connection.Connect(ctx, options)
}
