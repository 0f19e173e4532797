package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/activities/sweep"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/analysing"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/flaggroups"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/logs"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/settings"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/watching"
	"github.com/kyma-project/lifecycle-manager/internal/model/budget"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
	"github.com/kyma-project/lifecycle-manager/internal/registry/signature"
	"github.com/kyma-project/lifecycle-manager/watchers"
	"github.com/kyma-project/lifecycle-manager/worker/deployment"
)

// Roles of a process (flag --role).
const (
	roleAll      = "all"
	roleWatchers = "watchers"
	roleWorkers  = "workers"
)

// flags are the flags of `lifecycle-manager run`.
type flags struct {
	// set are all of them, once they were read.
	set *pflag.FlagSet

	configFile                                  string
	role, mode, kubeconfig, logLevel, logFormat string

	workerVersioning bool
	workerRamp       deployment.Ramp

	metricsAddress, probeAddress, pprofAddress string
	metricsSecure, pprof                       bool
	metricsCertDir                             string
	perClusterMetrics                          bool

	leaderElect                               bool
	leaderElectionNamespace                   string
	leaseDuration, renewDeadline, retryPeriod time.Duration

	clientQPS, remoteQPS     float32
	clientBurst, remoteBurst int
	remoteConcurrency        int

	settings       desired.Settings
	resyncInterval time.Duration
	// missingAPITimeout and stuckWorkloadTimeout are for how long a module is being worked on and not in Error.
	missingAPITimeout, stuckWorkloadTimeout time.Duration

	sweepShards, sweepConcurrency int
	stopTimeout                   time.Duration

	workflowSlots, controlPlaneSlots, remoteSlots, backgroundSlots int
	pacedAtOnce                                                    int

	removals      resolve.Limits
	removalBudget budget.Limits

	// access says what access Secrets may ask for that is refused by default.
	access accessFlags

	neverPurged []string

	watching                 watching.Flags
	maintenance              maintenanceFlags
	webhook                  webhookFlags
	sameFailures             int32
	analysing                analysing.Flags
	signaturePolicy          string
	remoteTemplateRegistries []string

	registryHost, registrySubpath, registrySecret string
	registryCAFile                                string
	plainHTTPHosts, allowedRegistries             []string
	registryPulls                                 int
	registryTimeout                               time.Duration
	cacheDir                                      string
}

// groups registers the flags, in groups as --help shows them.
func (f *flags) groups() flaggroups.Groups {
	var groups flaggroups.Groups
	set := groups.Add("Process")
	set.StringVar(&f.configFile, "config", "", "YAML file with settings: names of these flags without the dashes, and their values; a flag that is given goes before it")
	set.StringVar(&f.role, "role", roleAll, "what this process does: all, watchers or workers")
	set.StringVar(&f.mode, "mode", string(desired.ModeControlPlane), "where modules go unless a Kyma says otherwise: control-plane (remote clusters) or single-cluster")
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of the control plane; default: KUBECONFIG, then in-cluster, then ~/.kube/config")
	set.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error; or as upstream a number: 0 is warn, 1 info, others debug")
	set.StringVar(&f.logFormat, "log-format", logs.JSON, "form of log lines: json, or text for people")
	set.DurationVar(&f.stopTimeout, "stop-timeout", 20*time.Second, "how long running activities may continue after a stop; keep it below the pod's termination grace period")

	set = groups.Add("Versions of workers")
	set.BoolVar(&f.workerVersioning, "worker-versioning", false, "make the workers a version of a Temporal worker deployment; the leader makes its own build the current version once workers of it poll every task queue")
	set.Float32Var(&f.workerRamp.Percent, "worker-ramp-percent", 0, "share of the workflows that a new build gets first, while workers of the former one run; 0 gives it all at once")
	set.DurationVar(&f.workerRamp.Duration, "worker-ramp-duration", 10*time.Minute, "how long it has that share, until it gets all")

	set = groups.Add("Metrics, probes, profiles")
	set.StringVar(&f.metricsAddress, "metrics-bind-address", ":8080", "address of /metrics; 0 switches it off")
	set.BoolVar(&f.metricsSecure, "metrics-secure", false, "serve metrics by HTTPS, and only to those whose token the API server takes and who may get the URL /metrics")
	set.StringVar(&f.metricsCertDir, "metrics-cert-dir", "", "folder with tls.crt and tls.key for --metrics-secure, read again when they change; without one the certificate is self-signed")
	set.BoolVar(&f.perClusterMetrics, "per-cluster-metrics", true, "export the state of every Kyma and module; switch it off for large fleets")
	set.StringVar(&f.probeAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz; 0 switches them off")
	set.BoolVar(&f.pprof, "pprof", false, "serve pprof")
	set.StringVar(&f.pprofAddress, "pprof-bind-address", ":8084", "address of pprof, where it is on")

	set = groups.Add("Leader election")
	set.BoolVar(&f.leaderElect, "leader-elect", false, "watch only while holding the lease; needed with more than one process that watches")
	set.StringVar(&f.leaderElectionNamespace, "leader-election-namespace", "", "namespace of the lease; default: the pod's")
	set.DurationVar(&f.leaseDuration, "leader-election-lease-duration", 180*time.Second, "how long others wait before they take over an unrenewed lease")
	set.DurationVar(&f.renewDeadline, "leader-election-renew-deadline", 120*time.Second, "how long the leader tries to renew before it gives up")
	set.DurationVar(&f.retryPeriod, "leader-election-retry-period", 3*time.Second, "how often the lease is tried for")

	set = groups.Add("Load on the control plane, on remote clusters, and of this process")
	set.Float32Var(&f.clientQPS, "k8s-client-qps", 300, "requests per second to the control plane")
	set.IntVar(&f.clientBurst, "k8s-client-burst", 600, "burst of requests to the control plane")
	set.Float32Var(&f.remoteQPS, "k8s-skr-client-qps", 50, "requests per second to one remote cluster")
	set.IntVar(&f.remoteBurst, "k8s-skr-client-burst", 100, "burst of requests to one remote cluster")
	set.IntVar(&f.remoteConcurrency, "k8s-skr-client-concurrency", 16, "requests to one remote cluster that are under way at once, per process")
	set.IntVar(&f.workflowSlots, "workflow-slots", 16, "workflow tasks at once, in which short steps are tried first")
	set.IntVar(&f.controlPlaneSlots, "control-plane-slots", 100, "activities on the control plane at once")
	set.IntVar(&f.backgroundSlots, "background-slots", 4, "background reconciles at once, such as those after a change of the catalog")
	set.IntVar(&f.remoteSlots, "remote-slots", 200, "activities on remote clusters at once")

	set = groups.Add("Instance and remote clusters")
	set.StringVar(&f.settings.SyncNamespace, "sync-namespace", "kyma-system", "remote namespace of Kymas that do not set spec.sync")
	set.StringVar(&f.settings.RemoteKymaName, "remote-kyma-name", "default", "name of the remote Kyma where spec.sync is unset")
	set.StringSliceVar(&f.settings.Namespaces, "namespaces", nil, "namespaces of the control plane whose Kymas, catalog and access Secrets this instance knows; it needs no rights in others. None is all")
	set.StringVar(&f.settings.AccessSecretNamespace, "access-secret-namespace", "", "where access Secrets are searched for when the Kyma's namespace has none")
	set.StringVar(&f.settings.ManagedBy, "managed-by", "lifecycle-manager", "value of the label managed-by on what this instance works on")
	set.StringVar(&f.settings.ControllerName, "controller-name", "", "controller name that module entries and templates may ask for")
	set.StringVar(&f.settings.ImagePullSecret, "skr-image-pull-secret", "", "name of a Secret in the namespace kcp-system that every remote cluster gets, to pull images with")
	set.BoolVar(&f.settings.AllowControlPlaneModules, "allow-control-plane-modules", false, "permit modules with target control-plane, and the sync strategy local-client, in control-plane mode")
	set.StringSliceVar(&f.settings.InjectingModules, "inject-data-from-kcp-modules", []string{"deployer"}, "modules whose Secrets may ask, by the annotation "+shared.AnnotationInjectData+", for the data of Secrets in the namespace kcp-system that are labelled for them")
	set.StringSliceVar(&f.settings.RestrictedModules, "restricted-default-modules", nil, "modules that only Kymas selected by the release meta's kymaSelector may have")

	set = groups.Add("Pace")
	set.DurationVar(&f.resyncInterval, "resync-interval", 5*time.Minute, "how often every cluster is compared with what is wanted; bounds how late a change in a remote cluster is seen")
	set.IntVar(&f.sweepShards, "sweep-shards", sweep.DefaultShards, "shards that the fleet is split into to compare it, each with a workflow of its own")
	set.IntVar(&f.sweepConcurrency, "sweep-concurrency", 8, "shards of the fleet that are walked at once, per process")
	set.DurationVar(&f.settings.PacingSpan, "module-upgrade-rollout-max-delay", 5*time.Minute, "span over which a change of the catalog reaches the fleet; 0 is at once")
	set.IntVar(&f.pacedAtOnce, "module-upgrade-rollout-at-once", watchers.DefaultPacedAtOnce, "Kymas that a change of the catalog occupies at once")
	set.Int32Var(&f.sameFailures, "rollout-same-failures", rollout.DefaultSameFailures, "clusters that may fail in the same way with a new version before its rollout is held, whatever the rollout's own limit is")
	f.analysing.Register(set)
	set.DurationVar(&f.missingAPITimeout, "missing-api-timeout", 10*time.Minute, "how long a module waits for a kind that its cluster does not know, or for objects that cannot be applied for the moment, before that is an error")
	set.DurationVar(&f.stuckWorkloadTimeout, "stuck-workload-timeout", 5*time.Minute, "how long a module's workload may be pending before what keeps its pods back is an error")

	f.settings.StateRule = shared.StateFromCustomResource
	set.Var(&f.settings.StateRule, "module-state-from", "whose state is a module's state: custom-resource (all of its objects must be ready, then its default custom resource decides) or workloads (its Deployments and StatefulSets decide alone)")

	set = groups.Add("Removals")
	set.IntVar(&f.removals.Kymas, "catalog-removal-max-kymas", 10, "from how many Kymas one change of the catalog may remove a module without approval")
	set.IntVar(&f.removals.Percent, "catalog-removal-max-percent", 5, "from what share of the Kymas, of which one is always allowed; the lower limit counts")
	set.IntVar(&f.removals.PerMinute, "catalog-removal-rate", 60, "how many modules per minute each process begins to remove because of a change of the catalog")
	set.IntVar(&f.removalBudget.Percent, "removal-budget-percent", 5, "what share of the Kymas may lose modules within --removal-budget-window without an approval, whatever causes it; the greater of this and --removal-budget-min counts")
	set.IntVar(&f.removalBudget.Min, "removal-budget-min", 10, "how many Kymas may lose modules within --removal-budget-window in a fleet of any size")
	set.DurationVar(&f.removalBudget.Window, "removal-budget-window", time.Hour, "for how long a Kyma that lost modules counts in the removal budget")

	set = groups.Add("Deletion and purge")
	set.BoolVar(&f.settings.Purge.Enabled, "enable-purge-finalizer", true, "force the deletion of a Kyma when its grace period is over; without it only lifecycle-manager purge does")
	set.DurationVar(&f.settings.Purge.Grace, "purge-finalizer-timeout", 24*time.Hour, "grace period from a Kyma's deletion until it is forced, unless its annotation "+shared.AnnotationPurgeGracePeriod+" says otherwise")
	set.DurationVar(&f.settings.Purge.Grace, "purge-grace-period", 24*time.Hour, "another name of --purge-finalizer-timeout")
	set.DurationVar(&f.settings.Purge.Orderly, "purge-orderly-attempt", 10*time.Minute, "how long an orderly removal must have been tried before, with control plane and Temporal up")
	set.StringSliceVar(&f.neverPurged, "skip-finalizer-purging-for", nil, "finalizers that a purge never takes off")

	set = groups.Add("Trust")
	set.StringVar(&f.signaturePolicy, "signature-policy", string(signature.Ignore), "which component descriptors must carry a signature that verifies with a key in a Secret: ignore (none), if-signed or require")
	f.access.register(set)
	set.StringSliceVar(&f.remoteTemplateRegistries, "remote-template-registries", nil, "registries (host or host:port) that user-provided ModuleTemplates in remote clusters may refer to; none by default")

	set = groups.Add("Maintenance windows")
	f.maintenance.register(set, os.Getenv)

	set = groups.Add("Admission webhook")
	f.webhook.register(set)

	set = groups.Add("Registries")
	set.StringVar(&f.registryHost, "oci-registry-host", "", "registry from which components are fetched: their descriptors where a ModuleTemplate embeds none, and their layers also where an embedded descriptor names another repository; by default that of --oci-registry-cred-secret")
	set.StringVar(&f.registrySubpath, "modules-repository-subpath", "", "path below the registry")
	set.StringVar(&f.registrySecret, "oci-registry-cred-secret", "", "dockerconfigjson Secret with the registry's credentials, as name or namespace/name (default namespace kcp-system); they are read again every minute, and when the registry refuses them. Without --oci-registry-host, its only entry is the registry, which is read at the start; http:// before it means without TLS")
	set.StringVar(&f.registryCAFile, "oci-registry-ca-file", "", "PEM file with certificates of authorities that registries are trusted by, besides the system's")
	set.IntVar(&f.registryPulls, "oci-registry-pulls", 8, "requests to one registry at once")
	set.DurationVar(&f.registryTimeout, "oci-registry-timeout", time.Minute, "how long fetching one layer or descriptor may take, with all tries")
	set.StringSliceVar(&f.plainHTTPHosts, "oci-registry-plain-http", nil, "registry hosts (host:port) that are spoken to without TLS")
	set.StringSliceVar(&f.allowedRegistries, "oci-registry-allowed", nil, "registries (host or host:port) that layers may come from, besides that of --oci-registry-host and those of --remote-template-registries; any by default")
	set.StringVar(&f.cacheDir, "artifact-cache-dir", "", "folder for layers, safe to share between processes; empty: memory only")

	f.watching.Build = version
	f.watching.AddTo(&groups)

	settings.RegisterUpstreamOnly(groups.Add("Flags of upstream that have no effect"))
	return groups
}

// read takes what the command line does not say from the configuration file, where there is one, and checks all.
func (f *flags) read(set *pflag.FlagSet) error {
	f.set = set
	if f.configFile != "" {
		if err := settings.ReadFile(set, f.configFile); err != nil {
			return fmt.Errorf("--config: %w", err)
		}
	}
	return f.check()
}

// check refuses what cannot work, before anything is started.
func (f *flags) check() error {
	switch f.role {
	case roleAll, roleWatchers, roleWorkers:
	default:
		return fmt.Errorf("--role must be %s, %s or %s, not %q", roleAll, roleWatchers, roleWorkers, f.role)
	}
	if f.logFormat != logs.JSON && f.logFormat != logs.Text {
		return fmt.Errorf("--log-format must be %s or %s, not %q", logs.JSON, logs.Text, f.logFormat)
	}
	switch desired.Mode(f.mode) {
	case desired.ModeControlPlane, desired.ModeSingleCluster:
	default:
		return fmt.Errorf("--mode must be %s or %s, not %q", desired.ModeControlPlane, desired.ModeSingleCluster, f.mode)
	}
	if f.resyncInterval < time.Second {
		return fmt.Errorf("--resync-interval must be at least 1s, not %s", f.resyncInterval)
	}
	if f.missingAPITimeout <= 0 || f.stuckWorkloadTimeout <= 0 {
		return fmt.Errorf("--missing-api-timeout and --stuck-workload-timeout must be above 0, not %s and %s", f.missingAPITimeout, f.stuckWorkloadTimeout)
	}
	if f.sweepShards < 1 || f.sweepShards > 64 || f.sweepConcurrency < 1 || f.sweepConcurrency > 64 {
		return fmt.Errorf("--sweep-shards and --sweep-concurrency must be between 1 and 64, not %d and %d", f.sweepShards, f.sweepConcurrency)
	}
	if f.workflowSlots < 2 || f.controlPlaneSlots < 1 || f.remoteSlots < 1 || f.backgroundSlots < 1 {
		return errors.New("--workflow-slots must be at least 2, --control-plane-slots, --remote-slots and --background-slots at least 1: else nothing is done")
	}
	if f.remoteQPS <= 0 || f.remoteBurst < 1 || f.remoteConcurrency < 1 {
		return errors.New("--k8s-skr-client-qps, --k8s-skr-client-burst and --k8s-skr-client-concurrency must be positive: no cluster is without limits")
	}
	if f.removals.Kymas < 1 || f.removals.Percent < 1 || f.removals.Percent > 100 || f.removals.PerMinute < 1 {
		return errors.New("--catalog-removal-max-kymas and --catalog-removal-rate must be at least 1, --catalog-removal-max-percent between 1 and 100")
	}
	if b := f.removalBudget; b.Min < 1 || b.Percent < 1 || b.Percent > 100 || b.Window < time.Second {
		return errors.New("--removal-budget-min must be at least 1, --removal-budget-percent between 1 and 100, --removal-budget-window at least 1s")
	}
	if f.settings.Purge.Grace < 0 || f.settings.Purge.Orderly < 0 {
		return errors.New("--purge-finalizer-timeout (--purge-grace-period) and --purge-orderly-attempt must not be negative")
	}
	if _, err := signature.ParsePolicy(f.signaturePolicy); err != nil {
		return fmt.Errorf("--signature-policy: %w", err)
	}
	if err := errors.Join(f.maintenance.check(), f.webhook.check(), f.access.check(), f.watching.Check(), f.analysing.Check()); err != nil {
		return err
	}
	if name := f.settings.ImagePullSecret; name != "" && len(validation.IsDNS1123Subdomain(name)) > 0 {
		return fmt.Errorf("--skr-image-pull-secret must be the name of a Secret, not %q", name)
	}
	for _, name := range f.settings.InjectingModules {
		if problems := validation.IsValidLabelValue(name); name == "" || len(problems) > 0 {
			return fmt.Errorf("--inject-data-from-kcp-modules must be names of modules, as in the label %s of a Secret, not %q", shared.LabelModuleName, name)
		}
	}
	if f.registryPulls < 1 || f.registryTimeout < time.Second {
		return errors.New("--oci-registry-pulls must be at least 1, and --oci-registry-timeout at least 1s")
	}
	if f.settings.PacingSpan < 0 {
		return fmt.Errorf("--module-upgrade-rollout-max-delay must not be negative, got %s", f.settings.PacingSpan)
	}
	if f.pacedAtOnce < 1 {
		return fmt.Errorf("--module-upgrade-rollout-at-once must be at least 1, got %d", f.pacedAtOnce)
	}
	if err := f.complete(); err != nil {
		return err
	}
	if f.registryHost == "" && f.registrySecret == "" && f.registrySubpath != "" {
		return errors.New("--modules-repository-subpath is below a registry, and neither --oci-registry-host nor --oci-registry-cred-secret is given")
	}
	switch {
	case f.workerRamp.Percent < 0 || f.workerRamp.Percent >= 100:
		return fmt.Errorf("--worker-ramp-percent must be at least 0 and below 100, not %g", f.workerRamp.Percent)
	case f.workerRamp.Percent > 0 && !f.workerVersioning:
		return errors.New("--worker-ramp-percent is for --worker-versioning, which is not given")
	}
	if f.metricsCertDir != "" && !f.metricsSecure {
		return errors.New("--metrics-cert-dir is for --metrics-secure, which is not given")
	}
	for _, name := range f.settings.Namespaces {
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			return fmt.Errorf("--namespaces %q: %s", name, problems[0])
		}
	}
	if f.kubeconfig != "" {
		if _, err := os.Stat(f.kubeconfig); err != nil {
			return fmt.Errorf("--kubeconfig: %w", err)
		}
	}
	return nil
}

// complete fills in what follows from flags.
func (f *flags) complete() error {
	f.settings.Mode, f.settings.Watching = desired.Mode(f.mode), f.watching.Desired()
	if err := f.readRegistryHost(); err != nil {
		return fmt.Errorf("--oci-registry-host %w", err)
	}
	return nil
}
