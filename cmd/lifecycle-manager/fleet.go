package main

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kyma-project/lifecycle-manager/activities/sweep"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/analysing"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/rollout"
	"github.com/kyma-project/lifecycle-manager/watchers"
)

// fleetFlags say which Kymas the instance works for, what it does in their clusters, and at which pace.
type fleetFlags struct {
	settings       desired.Settings
	resyncInterval time.Duration
	// missingAPITimeout and stuckWorkloadTimeout bound how long a module stays in Processing before it is in Error.
	missingAPITimeout, stuckWorkloadTimeout time.Duration
	sweepShards, sweepConcurrency           int
	pacedAtOnce                             int
	sameFailures                            int32
	analysing                               analysing.Flags
}

func (f *fleetFlags) registerInstance(set *pflag.FlagSet) {
	set.StringVar(&f.settings.SyncNamespace, "sync-namespace", "kyma-system", "remote namespace of Kymas that do not set spec.sync")
	set.StringVar(&f.settings.RemoteKymaName, "remote-kyma-name", "default", "name of the remote Kyma if spec.sync is unset")
	set.StringSliceVar(&f.settings.Namespaces, "namespaces", nil, "namespaces of the control plane whose Kymas, catalog and access Secrets this instance knows; it needs no rights in others. Default: all")
	set.StringVar(&f.settings.AccessSecretNamespace, "access-secret-namespace", "", "where to search for access Secrets if the Kyma's namespace has none")
	set.StringVar(&f.settings.ManagedBy, "managed-by", "lifecycle-manager", "value of the label managed-by on the resources of this instance")
	set.StringVar(&f.settings.ControllerName, "controller-name", "", "controller name that module entries and templates may ask for")
	set.StringVar(&f.settings.ImagePullSecret, "skr-image-pull-secret", "", "name of a Secret in the namespace kcp-system that is copied to every remote cluster, to pull images with")
	set.BoolVar(&f.settings.AllowControlPlaneModules, "allow-control-plane-modules", false, "permit modules with target control-plane, and the sync strategy local-client, in control-plane mode")
	set.StringSliceVar(&f.settings.InjectingModules, "inject-data-from-kcp-modules", []string{"deployer"}, "modules whose Secrets may ask, by the annotation "+shared.AnnotationInjectData+", for the data of Secrets in the namespace kcp-system that are labelled for them")
	set.StringSliceVar(&f.settings.RestrictedModules, "restricted-default-modules", nil, "modules that only Kymas selected by the release meta's kymaSelector may have")
}

func (f *fleetFlags) registerPace(set *pflag.FlagSet) {
	set.DurationVar(&f.resyncInterval, "resync-interval", 5*time.Minute, "how often every cluster is compared with its desired state; bounds how late a change in a remote cluster is seen")
	set.IntVar(&f.sweepShards, "sweep-shards", sweep.DefaultShards, "shards that the sweep splits the fleet into, each with a workflow of its own")
	set.IntVar(&f.sweepConcurrency, "sweep-concurrency", 8, "shards that one process sweeps at once")
	set.DurationVar(&f.settings.PacingSpan, "module-upgrade-rollout-max-delay", 5*time.Minute, "time over which a change of the catalog is spread over the fleet (pacing); 0 applies it at once")
	set.IntVar(&f.pacedAtOnce, "module-upgrade-rollout-at-once", watchers.DefaultPacedAtOnce, "Kymas that apply a change of the catalog at the same time")
	set.Int32Var(&f.sameFailures, "rollout-same-failures", rollout.DefaultSameFailures, "clusters that may fail in the same way with a new version before its rollout is held, whatever the rollout's own limit is")
	f.analysing.Register(set)
	set.DurationVar(&f.missingAPITimeout, "missing-api-timeout", 10*time.Minute, "how long a module waits for a kind that its cluster does not serve, or for objects that cannot be applied at the moment, before it is in Error")
	set.DurationVar(&f.stuckWorkloadTimeout, "stuck-workload-timeout", 5*time.Minute, "how long a module's workload may be pending before the module is in Error, with the reason why its pods do not start")
	f.settings.StateRule = shared.StateFromCustomResource
	set.Var(&f.settings.StateRule, "module-state-from", "what a module's state comes from: custom-resource (all of its objects must be ready, then its default custom resource decides) or workloads (only its Deployments and StatefulSets decide)")
}

func (f *fleetFlags) check() error {
	if f.resyncInterval < time.Second {
		return fmt.Errorf("--resync-interval must be at least 1s, not %s", f.resyncInterval)
	}
	if f.missingAPITimeout <= 0 || f.stuckWorkloadTimeout <= 0 {
		return fmt.Errorf("--missing-api-timeout and --stuck-workload-timeout must be above 0, not %s and %s", f.missingAPITimeout, f.stuckWorkloadTimeout)
	}
	if f.sweepShards < 1 || f.sweepShards > 64 || f.sweepConcurrency < 1 || f.sweepConcurrency > 64 {
		return fmt.Errorf("--sweep-shards and --sweep-concurrency must be between 1 and 64, not %d and %d", f.sweepShards, f.sweepConcurrency)
	}
	if f.settings.PacingSpan < 0 {
		return fmt.Errorf("--module-upgrade-rollout-max-delay must not be negative, got %s", f.settings.PacingSpan)
	}
	if f.pacedAtOnce < 1 {
		return fmt.Errorf("--module-upgrade-rollout-at-once must be at least 1, got %d", f.pacedAtOnce)
	}
	if f.settings.Purge.Grace < 0 || f.settings.Purge.Orderly < 0 {
		return fmt.Errorf("--purge-finalizer-timeout (--purge-grace-period) and --purge-orderly-attempt must not be negative")
	}
	if err := f.checkNames(); err != nil {
		return err
	}
	return f.analysing.Check()
}

func (f *fleetFlags) checkNames() error {
	if name := f.settings.ImagePullSecret; name != "" && len(validation.IsDNS1123Subdomain(name)) > 0 {
		return fmt.Errorf("--skr-image-pull-secret must be the name of a Secret, not %q", name)
	}
	for _, name := range f.settings.InjectingModules {
		if problems := validation.IsValidLabelValue(name); name == "" || len(problems) > 0 {
			return fmt.Errorf("--inject-data-from-kcp-modules must be names of modules, as in the label %s of a Secret, not %q", shared.LabelModuleName, name)
		}
	}
	for _, name := range f.settings.Namespaces {
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			return fmt.Errorf("--namespaces %q: %s", name, problems[0])
		}
	}
	return nil
}
