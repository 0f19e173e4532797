package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	temporal "go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/kyma-project/lifecycle-manager/activities/purge"
	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/routing"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/agreement"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/atwork"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/cli"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/model/windows"
	"github.com/kyma-project/lifecycle-manager/internal/registry/signature"
	"github.com/kyma-project/lifecycle-manager/watchers"
	"github.com/kyma-project/lifecycle-manager/watchers/collectors"
	"github.com/kyma-project/lifecycle-manager/watchers/controllers"
	"github.com/kyma-project/lifecycle-manager/watchers/storedversions"
	"github.com/kyma-project/lifecycle-manager/worker"
	"github.com/kyma-project/lifecycle-manager/worker/deployment"
	"github.com/kyma-project/lifecycle-manager/worker/tracing"
)

// process is a process of `lifecycle-manager run` while it is put together. The steps of run fill in its fields from the top to
// the bottom.
type process struct {
	*flags
	log logr.Logger

	traces          *tracing.Tracing
	temporal        temporal.Client
	namespace       string // of Temporal
	temporalOptions temporal.Options
	controlPlane    *rest.Config
	live            client.Client // of the control plane, without a cache
	manager         manager.Manager
	informers       *fleet.Informers
	policies        *windows.Source
	assembly        *worker.Assembly
	agreed          *agreement.Agreement
	workflows       *collectors.Workflows // nil in a process that only works
	link            *worker.Link
}

// stop closes what the process opened.
func (p *process) stop() {
	if p.temporal != nil {
		p.temporal.Close()
	}
	if p.traces != nil {
		p.traces.Stop()
	}
}

// connect connects to Temporal, and finds the control plane.
func (p *process) connect(ctx context.Context) (err error) {
	if p.traces, err = tracing.New(ctx, version, p.log.WithName("traces")); err != nil {
		return err
	}
	if p.temporalOptions, err = cli.TemporalOptions(); err != nil {
		return err
	}
	p.namespace = p.temporalOptions.Namespace
	if p.temporal, err = p.connectTemporal(ctx, p.temporalOptions); err != nil {
		return err
	}
	if p.controlPlane, err = cli.ControlPlane(p.kubeconfig, ""); err != nil {
		return err
	}
	worker.MeasureClients(p.controlPlane)
	return nil
}

// connectTemporal connects with these options, and with what this process adds to them.
func (p *process) connectTemporal(ctx context.Context, options temporal.Options) (temporal.Client, error) {
	log := p.log.WithName("temporal")
	options.Identity = identity()
	options.Interceptors = p.traces.Interceptors()
	options.Logger = cli.TemporalLog(log)
	var err error
	if options.MetricsHandler, err = worker.MetricsHandler(metrics.Registry); err != nil {
		return nil, err
	}
	failures, err := worker.NewTaskFailures(metrics.Registry, log)
	if err != nil {
		return nil, err
	}
	options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions, grpc.WithChainUnaryInterceptor(failures.Intercept))
	ctx, cancel := context.WithTimeout(ctx, cli.ConnectTimeout)
	defer cancel()
	return cli.ConnectTemporal(ctx, options)
}

// makeManager makes the manager with its cache, and registers the metrics of this process.
func (p *process) makeManager(ctx context.Context) (err error) {
	if p.manager, p.informers, err = newManager(p.flags, p.traces); err != nil {
		return err
	}
	if err := routing.CheckIstio(p.settings, p.manager.GetRESTMapper()); err != nil {
		return err
	}
	if err := worker.Index(ctx, p.manager.GetFieldIndexer()); err != nil {
		return err
	}
	if err := thisBuild().register(metrics.Registry); err != nil {
		return err
	}
	if err := p.showCertificates(p.controlPlane, p.temporalOptions.ConnectionOptions.TLS, p.webhook.serving.Load); err != nil {
		return err
	}
	p.policies, err = p.maintenance.source(metrics.Registry, p.log)
	return err
}

// assemble makes everything that works on Kymas.
func (p *process) assemble(ctx context.Context) error {
	artifacts, err := artifactOptions(ctx, p.flags, p.manager.GetAPIReader())
	if err != nil {
		return err
	}
	prometheus, err := p.analysing.Prometheus()
	if err != nil {
		return err
	}
	p.assembly, err = worker.Assemble(worker.Parts{
		ControlPlane: p.manager.GetConfig(), Scheme: p.manager.GetScheme(), Cache: p.manager.GetCache(), Informers: p.informers, Temporal: p.temporal,
		Events:   p.manager.GetEventRecorderFor("lifecycle-manager"), //nolint:staticcheck // kubectl describe shows Events of this API
		Registry: metrics.Registry, Version: version, Log: p.log,
		Config: worker.Config{
			Settings: p.settings, ResyncInterval: p.resyncInterval,
			MissingAPITimeout: p.missingAPITimeout, StuckWorkloadTimeout: p.stuckWorkloadTimeout,
			SweepShards: p.sweepShards, SweepConcurrency: p.sweepConcurrency,
			Access: p.access.allowed(), Limits: p.remote,
			Removals: p.removals, RemovalBudget: p.removalBudget, PurgeRules: purge.Rules{Never: p.neverPurged},
			SameFailures: p.sameFailures, NoApprovals: p.webhook.noApprovals(), Prometheus: prometheus,
			Windows:    resolve.PolicyWindows{Policies: p.policies, MinSize: p.maintenance.minSize, Now: time.Now},
			Signatures: signature.Policy(p.signaturePolicy), RemoteTemplateRegistries: p.remoteTemplateRegistries,
			Certificates: p.watching.Certificates(),
			Artifacts:    artifacts, PerClusterMetrics: p.perClusterMetrics, WrapRemote: p.traces.Remote,
		},
	})
	if err != nil {
		return err
	}
	return p.assembly.Clusters.Follow(ctx, p.manager.GetCache(), fleet.SecretMetadata())
}

// addAgreement makes this process work only with the settings of its instance.
func (p *process) addAgreement(context.Context) error {
	elected := p.manager.Elected()
	if !p.watches() {
		elected = nil
	}
	ownFlags := instanceSettings(p.set)
	own := func() map[string]string {
		settings := maps.Clone(ownFlags)
		settings[agreement.SettingPolicy] = p.policies.Digest()
		return settings
	}
	a, err := agreement.New(p.live, recordOf(p.flags), own, elected, metrics.Registry, p.log.WithName("settings"))
	if err != nil {
		return err
	}
	if err := p.manager.Add(a); err != nil {
		return err
	}
	p.agreed = a
	return p.manager.AddReadyzCheck("settings", a.Check)
}

// addWatchers adds what a process that may lead does.
func (p *process) addWatchers(ctx context.Context) error {
	if !p.watches() {
		return nil
	}
	a := p.assembly
	options := watchers.Options{
		Settings: p.settings, Kicks: a.Kicks, Inputs: a.Inputs, Clusters: a.Clusters, Agents: a.Inputs.Agents, Unowned: a.Activities.Manifests.Uninstall,
		Sweeps:   watchers.TemporalSweeps{Temporal: p.temporal, Interval: p.resyncInterval, Shards: p.sweepShards},
		Policies: p.policies, PacedAtOnce: p.pacedAtOnce, ResyncInterval: p.resyncInterval, Tracer: p.traces.Tracer(), RemovalBudget: a.Budget,
	}
	if p.settings.Watching.Enabled() {
		options.Certificates = watchers.TemporalCertificates{Temporal: p.temporal}
	}
	if err := watchers.Add(p.manager, options); err != nil {
		return err
	}
	if err := p.watching.Listen(p.manager, p.settings, a.Kicks); err != nil {
		return err
	}
	if err := controllers.Add(p.manager, p.settings, p.analysing.Configured(), a.Budget); err != nil {
		return err
	}
	if err := p.manager.Add(p.deploymentLeader()); err != nil {
		return err
	}
	if err := storedversions.Add(p.manager); err != nil {
		return err
	}
	if err := p.webhook.add(ctx, p.manager, p.settings); err != nil {
		return err
	}
	var err error
	p.workflows, err = collectors.Add(ctx, p.manager, metrics.Registry, p.settings, collectors.WorkflowsOptions{
		Temporal: p.temporal.WorkflowService(), Namespace: p.namespace, Shards: p.sweepShards, Interval: p.resyncInterval,
	}, p.perClusterMetrics)
	return err
}

// deploymentLeader makes the workers of this build the current version. It runs even if they are not versioned: unversioned workers
// get no tasks while a version is current.
func (p *process) deploymentLeader() *deployment.Leader {
	leader := &deployment.Leader{Deployment: workerDeployment(p.temporal, p.namespace), Ramp: p.workerRamp, Log: p.log.WithName("worker-deployment")}
	if p.workerVersioning {
		leader.BuildID = thisBuild().BuildID
	}
	return leader
}

// workerDeployment returns the worker deployment in a Temporal namespace.
func workerDeployment(temporalClient temporal.Client, namespace string) deployment.Deployment {
	return deployment.Deployment{Temporal: temporalClient.WorkflowService(), Namespace: namespace, Identity: identity(), Now: time.Now}
}

// addWorkers adds the Temporal workers. They start when the process agrees with the settings of its instance.
func (p *process) addWorkers(context.Context) error {
	if !p.works() {
		return nil
	}
	slots := p.slots
	slots.Sweep = p.sweepConcurrency
	workers := worker.New(p.temporal, worker.Options{
		Activities: p.assembly.Activities, Work: p.assembly.Work, Slots: slots, StopTimeout: p.stopTimeout,
		BuildID: thisBuild().BuildID, Versioned: p.workerVersioning,
	})
	if err := p.manager.Add(agreement.Gate{Runnable: p.assembly.Registries, Reached: p.agreed.Reached()}); err != nil {
		return err
	}
	return p.manager.Add(agreement.Gate{Runnable: workers, Reached: p.agreed.Reached()})
}

// addProbes makes the process healthy while it runs, and ready while its caches are filled and Temporal answers.
func (p *process) addProbes(context.Context) (err error) {
	p.link, err = worker.NewLink(p.temporal, p.namespace, p.works(), metrics.Registry, p.log.WithName("temporal"))
	if err != nil {
		return err
	}
	if err := p.manager.Add(p.link); err != nil {
		return err
	}
	if err := p.manager.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	if err := p.manager.AddReadyzCheck("caches", func(req *http.Request) error {
		ctx, cancel := context.WithTimeout(req.Context(), time.Second)
		defer cancel()
		if !p.manager.GetCache().WaitForCacheSync(ctx) {
			return fmt.Errorf("caches are not filled yet")
		}
		return nil
	}); err != nil {
		return err
	}
	return p.manager.AddReadyzCheck("temporal", p.link.Check)
}

// addLeaderStatus makes the leader record, beside the settings of the instance, whether it works.
func (p *process) addLeaderStatus(context.Context) error {
	if !p.watches() {
		return nil
	}
	return p.manager.Add(&atwork.Writer{
		Client: p.live, Key: recordOf(p.flags), Instance: p.settings.WithDefaults().ManagedBy,
		Problem: p.link.Problem, Held: p.workflows.Held, Now: time.Now, Log: p.log.WithName("leader-status"),
	})
}
