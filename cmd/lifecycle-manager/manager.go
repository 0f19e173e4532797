package main

import (
	"fmt"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kyma-project/lifecycle-manager/activities/routing"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/agreement"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/cli"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/worker"
	"github.com/kyma-project/lifecycle-manager/worker/tracing"
)

// newManager makes the manager, and the informers of its cache where that is limited to namespaces.
func newManager(f *flags, traces *tracing.Tracing) (manager.Manager, *fleet.Informers, error) {
	scheme, err := cli.NewScheme()
	if err != nil {
		return nil, nil, err
	}
	if err := routing.AddToScheme(f.settings, scheme); err != nil {
		return nil, nil, fmt.Errorf("make the scheme: %w", err)
	}
	config, err := cli.ControlPlane(f.kubeconfig, "")
	if err != nil {
		return nil, nil, err
	}
	config.Wrap(traces.ControlPlane)
	config.QPS, config.Burst = f.clientQPS, f.clientBurst
	cached, informers, err := worker.CacheOptions(f.settings)
	if err != nil {
		return nil, nil, err
	}
	stop := f.stopTimeout + 10*time.Second
	pprofAddress := ""
	if f.pprof {
		pprofAddress = f.pprofAddress
	}
	mgr, err := ctrl.NewManager(config, manager.Options{
		Scheme:                        scheme,
		Cache:                         cached,
		Metrics:                       f.metricsServer(),
		HealthProbeBindAddress:        f.probeAddress,
		PprofBindAddress:              pprofAddress,
		LeaderElection:                f.leaderElect && f.role != roleWorkers,
		LeaderElectionID:              agreement.LeaseName(f.settings.ManagedBy),
		LeaderElectionNamespace:       f.leaderElectionNamespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &f.leaseDuration,
		RenewDeadline:                 &f.renewDeadline,
		RetryPeriod:                   &f.retryPeriod,
		GracefulShutdownTimeout:       &stop,
	})
	return mgr, informers, err
}
