package main

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/worker"
)

// loadFlags bound the load on the control plane, on each remote cluster, and on this process.
type loadFlags struct {
	clientQPS   float32
	clientBurst int
	remote      clusters.Limits
	slots       worker.Slots
}

func (f *loadFlags) register(set *pflag.FlagSet) {
	set.Float32Var(&f.clientQPS, "k8s-client-qps", 300, "requests per second to the control plane")
	set.IntVar(&f.clientBurst, "k8s-client-burst", 600, "burst of requests to the control plane")
	set.Float32Var(&f.remote.QPS, "k8s-skr-client-qps", 50, "requests per second to one remote cluster")
	set.IntVar(&f.remote.Burst, "k8s-skr-client-burst", 100, "burst of requests to one remote cluster")
	set.IntVar(&f.remote.Concurrency, "k8s-skr-client-concurrency", 16, "concurrent requests to one remote cluster, per process")
	set.IntVar(&f.slots.Workflow, "workflow-slots", 16, "concurrent workflow tasks; short steps are tried inside them first")
	set.IntVar(&f.slots.ControlPlane, "control-plane-slots", 100, "concurrent activities on the control plane")
	set.IntVar(&f.slots.Background, "background-slots", 4, "concurrent background reconciles, for example after a change of the catalog")
	set.IntVar(&f.slots.Remote, "remote-slots", 200, "concurrent activities on remote clusters")
}

func (f *loadFlags) check() error {
	if f.slots.Workflow < 2 || f.slots.ControlPlane < 1 || f.slots.Remote < 1 || f.slots.Background < 1 {
		return errors.New("--workflow-slots must be at least 2; --control-plane-slots, --remote-slots and --background-slots must be at least 1")
	}
	if f.remote.QPS <= 0 || f.remote.Burst < 1 || f.remote.Concurrency < 1 {
		return errors.New("--k8s-skr-client-qps, --k8s-skr-client-burst and --k8s-skr-client-concurrency must be positive: every cluster has limits")
	}
	return nil
}
