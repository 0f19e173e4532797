package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/kyma-project/lifecycle-manager/cmd/internal/cli"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/settings"
	"github.com/kyma-project/lifecycle-manager/cmd/internal/watching"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
)

// flags are the flags of `lifecycle-manager run`. Commands that ask about a running instance have them too. Each part is in a
// file of its own: it registers its flags and checks them.
type flags struct {
	// set holds all flags once they are parsed.
	set        *pflag.FlagSet
	configFile string

	processFlags
	versioningFlags
	servingFlags
	leaseFlags
	loadFlags
	fleetFlags
	removalFlags
	trustFlags
	registryFlags

	maintenance maintenanceFlags
	webhook     webhookFlags
	watching    watching.Flags
}

// groups registers the flags, in the groups that --help shows.
func (f *flags) groups() cli.Groups {
	var groups cli.Groups
	set := groups.Add("Process")
	set.StringVar(&f.configFile, "config", "", "YAML file with settings: the names of these flags without the dashes, and their values; the command line takes precedence")
	f.processFlags.register(set)
	f.versioningFlags.register(groups.Add("Versions of workers"))
	f.servingFlags.register(groups.Add("Metrics, probes, profiles"))
	f.leaseFlags.register(groups.Add("Leader election"))
	f.loadFlags.register(groups.Add("Load on the control plane, on remote clusters, and of this process"))
	f.registerInstance(groups.Add("Instance and remote clusters"))
	f.registerPace(groups.Add("Pace"))
	f.removalFlags.register(groups.Add("Removals"))
	f.registerPurge(groups.Add("Deletion and purge"))
	f.trustFlags.register(groups.Add("Trust"))
	f.maintenance.register(groups.Add("Maintenance windows"), os.Getenv)
	f.webhook.register(groups.Add("Admission webhook"))
	f.registryFlags.register(groups.Add("Registries"))
	f.watching.Build = version
	f.watching.AddTo(&groups)
	settings.RegisterUpstreamOnly(groups.Add("Upstream's flags without an effect"))
	return groups
}

// read completes the command line from the configuration file, if there is one, and checks the result.
func (f *flags) read(set *pflag.FlagSet) error {
	f.set = set
	if f.configFile != "" {
		if err := settings.ReadFile(set, f.configFile); err != nil {
			return fmt.Errorf("--config: %w", err)
		}
	}
	return f.check()
}

// check refuses flags that cannot work, before anything is started.
func (f *flags) check() error {
	for _, check := range []func() error{
		f.processFlags.check, f.fleetFlags.check, f.loadFlags.check, f.removalFlags.check, f.trustFlags.check,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	if err := errors.Join(f.maintenance.check(), f.webhook.check(), f.watching.Check()); err != nil {
		return err
	}
	if err := f.registryFlags.check(); err != nil {
		return err
	}
	if err := f.complete(); err != nil {
		return err
	}
	if err := f.versioningFlags.check(); err != nil {
		return err
	}
	return f.servingFlags.check()
}

// complete sets what follows from other flags.
func (f *flags) complete() error {
	f.settings.Mode, f.settings.Watching = desired.Mode(f.mode), f.watching.Desired()
	if err := f.readRegistryHost(); err != nil {
		return fmt.Errorf("--oci-registry-host %w", err)
	}
	return nil
}
