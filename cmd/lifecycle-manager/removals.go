package main

import (
	"errors"
	"time"

	"github.com/spf13/pflag"

	"github.com/kyma-project/lifecycle-manager/activities/resolve"
	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/internal/model/budget"
)

// removalFlags bound how many modules are removed, and say which finalizers a purge leaves alone.
type removalFlags struct {
	removals      resolve.Limits
	removalBudget budget.Limits
	neverPurged   []string
}

func (f *removalFlags) register(set *pflag.FlagSet) {
	set.IntVar(&f.removals.Kymas, "catalog-removal-max-kymas", 10, "how many Kymas may lose a module through one change of the catalog without approval")
	set.IntVar(&f.removals.Percent, "catalog-removal-max-percent", 5, "the same as a percentage of the Kymas; at least one Kyma is always allowed, and the lower of both limits counts")
	set.IntVar(&f.removals.PerMinute, "catalog-removal-rate", 60, "how many removals that a change of the catalog causes each process begins per minute")
	set.IntVar(&f.removalBudget.Percent, "removal-budget-percent", 5, "percentage of the Kymas that may lose modules within --removal-budget-window without approval, whatever the cause; the greater of this and --removal-budget-min counts")
	set.IntVar(&f.removalBudget.Min, "removal-budget-min", 10, "how many Kymas may lose modules within --removal-budget-window, in a fleet of any size")
	set.DurationVar(&f.removalBudget.Window, "removal-budget-window", time.Hour, "how long a Kyma that lost modules counts in the removal budget")
}

// registerPurge registers the flags of the purge. Most of them are settings of the instance, which fleetFlags holds and checks.
func (f *flags) registerPurge(set *pflag.FlagSet) {
	purge := &f.settings.Purge
	set.BoolVar(&purge.Enabled, "enable-purge-finalizer", true, "force the deletion of a Kyma when its grace period is over; otherwise only lifecycle-manager purge does")
	set.DurationVar(&purge.Grace, "purge-finalizer-timeout", 24*time.Hour, "grace period between a Kyma's deletion and its purge, unless its annotation "+shared.AnnotationPurgeGracePeriod+" says otherwise")
	set.DurationVar(&purge.Grace, "purge-grace-period", 24*time.Hour, "another name of --purge-finalizer-timeout")
	set.DurationVar(&purge.Orderly, "purge-orderly-attempt", 10*time.Minute, "how long an orderly removal must have been tried before a purge, with control plane and Temporal up")
	set.StringSliceVar(&f.neverPurged, "skip-finalizer-purging-for", nil, "finalizers that a purge never removes")
}

func (f *removalFlags) check() error {
	if f.removals.Kymas < 1 || f.removals.Percent < 1 || f.removals.Percent > 100 || f.removals.PerMinute < 1 {
		return errors.New("--catalog-removal-max-kymas and --catalog-removal-rate must be at least 1, --catalog-removal-max-percent between 1 and 100")
	}
	if b := f.removalBudget; b.Min < 1 || b.Percent < 1 || b.Percent > 100 || b.Window < time.Second {
		return errors.New("--removal-budget-min must be at least 1, --removal-budget-percent between 1 and 100, --removal-budget-window at least 1s")
	}
	return nil
}
