package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/kyma-project/lifecycle-manager/cmd/internal/cli"
	"github.com/kyma-project/lifecycle-manager/worker/deployment"
)

// Roles of a process (flag --role).
const (
	roleAll      = "all"
	roleWatchers = "watchers"
	roleWorkers  = "workers"
)

// processFlags say what this process does and how it logs.
type processFlags struct {
	role, kubeconfig, logLevel, logFormat string
	mode                                  string
	stopTimeout                           time.Duration
}

func (f *processFlags) register(set *pflag.FlagSet) {
	set.StringVar(&f.role, "role", roleAll, "what this process does: all, watchers or workers")
	set.StringVar(&f.mode, "mode", "control-plane", "where modules are installed unless a Kyma says otherwise: control-plane (in remote clusters) or single-cluster")
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of the control plane; default: KUBECONFIG, then in-cluster, then ~/.kube/config")
	set.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error; or upstream's numbers: 0 is warn, 1 is info, any other is debug")
	set.StringVar(&f.logFormat, "log-format", cli.LogJSON, "form of log lines: json, or text for people")
	set.DurationVar(&f.stopTimeout, "stop-timeout", 20*time.Second, "how long running activities may continue after a stop; keep it below the pod's termination grace period")
}

func (f *processFlags) check() error {
	switch f.role {
	case roleAll, roleWatchers, roleWorkers:
	default:
		return fmt.Errorf("--role must be %s, %s or %s, not %q", roleAll, roleWatchers, roleWorkers, f.role)
	}
	if f.logFormat != cli.LogJSON && f.logFormat != cli.LogText {
		return fmt.Errorf("--log-format must be %s or %s, not %q", cli.LogJSON, cli.LogText, f.logFormat)
	}
	if f.kubeconfig != "" {
		if _, err := os.Stat(f.kubeconfig); err != nil {
			return fmt.Errorf("--kubeconfig: %w", err)
		}
	}
	return nil
}

func (f *processFlags) watches() bool { return f.role != roleWorkers }

func (f *processFlags) works() bool { return f.role != roleWatchers }

// versioningFlags say how workers of another build take over.
type versioningFlags struct {
	workerVersioning bool
	workerRamp       deployment.Ramp
}

func (f *versioningFlags) register(set *pflag.FlagSet) {
	set.BoolVar(&f.workerVersioning, "worker-versioning", false, "make the workers a version of a Temporal worker deployment; the leader makes its own build the current version when workers of that build poll every task queue")
	set.Float32Var(&f.workerRamp.Percent, "worker-ramp-percent", 0, "percentage of the workflows that a new build gets first, while workers of the previous build still run; 0 gives it all at once")
	set.DurationVar(&f.workerRamp.Duration, "worker-ramp-duration", 10*time.Minute, "how long a new build keeps that percentage before it gets all workflows")
}

func (f *versioningFlags) check() error {
	switch {
	case f.workerRamp.Percent < 0 || f.workerRamp.Percent >= 100:
		return fmt.Errorf("--worker-ramp-percent must be at least 0 and below 100, not %g", f.workerRamp.Percent)
	case f.workerRamp.Percent > 0 && !f.workerVersioning:
		return fmt.Errorf("--worker-ramp-percent needs --worker-versioning")
	}
	return nil
}
