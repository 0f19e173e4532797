// Package install installs and upgrades the module of a Manifest, follows it until it is ready, and records its state:
// ApplyManifest, InstallModules, EnsureDefaultCR, FollowModules and ReportManifest are its activities. Each of them can run
// again at any point.
package install

import (
	"cmp"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/kyma-project/lifecycle-manager/internal/modules/apply"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/removal"
)

// Options configure the activities.
type Options struct {
	// ApplyLimit is how long one reconcile of a Manifest may have taken when the last object is begun; the next one goes
	// on from there. It must end within its step, including the waits after the last object; 80 s.
	ApplyLimit time.Duration
	// StuckWorkloadTimeout is how long a workload may be pending before its pods are read for the reason, which then is an
	// error of the module; 5 min.
	StuckWorkloadTimeout time.Duration
	// ReadyWithin is how long one reconcile of a Manifest continues after everything is applied, for a module that becomes
	// ready in that time: then its state is written together with what was applied. 1 s; below zero for none.
	ReadyWithin time.Duration
}

// Activities install modules.
type Activities struct {
	Options  Options
	steps    *manifests.Steps
	applier  *apply.Applier
	removals *removal.Removals
	// quick has a place for each module that InstallModules works on in this process.
	quick *semaphore.Weighted
}

// New returns the activities, to be registered with a worker.
func New(steps *manifests.Steps, applier *apply.Applier, removals *removal.Removals, o Options) *Activities {
	o.ApplyLimit = cmp.Or(o.ApplyLimit, 80*time.Second)
	o.StuckWorkloadTimeout = cmp.Or(o.StuckWorkloadTimeout, 5*time.Minute)
	o.ReadyWithin = cmp.Or(o.ReadyWithin, time.Second)
	return &Activities{Options: o, steps: steps, applier: applier, removals: removals, quick: semaphore.NewWeighted(quickAtOnce)}
}
