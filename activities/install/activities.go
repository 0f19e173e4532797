// Package install installs and upgrades the module of a Manifest, follows it until it is ready, and records its state.
// Its activities are safe to run again at any point.
//
// ApplyManifest does the whole reconcile of one Manifest. InstallModules does the same for several Manifests that
// probably need only seconds, in a local activity. EnsureDefaultCR creates the default custom resource once.
// FollowModules waits until a module's state changes, and ReportManifest writes the observed state into the Manifest's
// status.
//
// What must stay true:
//   - The inventory in the Manifest's status contains an object before the object is applied, so that a crash never
//     leaves objects that no inventory has.
//   - Nothing is pruned before everything has been applied.
//   - The intent is written at the resourceVersion that the decision was based on. If the Manifest changed meanwhile, the
//     reconcile starts over (manifests.ErrChanged). What was done is recorded even if the Manifest has changed
//     (manifests.Steps.RecordStatus).
//   - The default custom resource belongs to the user after it has been created. It is never applied, and it is not
//     recreated unless the Manifest says so.
package install

import (
	"cmp"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/kyma-project/lifecycle-manager/internal/modules/apply"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/removal"
)

// Options configures the activities.
type Options struct {
	// ApplyLimit is how long a reconcile of one Manifest may take before it stops starting new objects; the next
	// reconcile continues from there. A reconcile must end within its step, including the waits after the last object.
	// Default: 80 s.
	ApplyLimit time.Duration
	// StuckWorkloadTimeout is how long a workload may be pending before its pods are read for the reason. The reason then
	// becomes the module's error. Default: 5 min.
	StuckWorkloadTimeout time.Duration
	// ReadyWithin is how long a reconcile of one Manifest waits for the module to become ready after everything has been
	// applied. If the module becomes ready in that time, its state is written together with the result of the apply.
	// Default: 1 s. A negative value disables the wait.
	ReadyWithin time.Duration
}

// Activities installs modules.
type Activities struct {
	Options  Options
	steps    *manifests.Steps
	applier  *apply.Applier
	removals *removal.Removals
	// quick limits how many modules InstallModules works on at a time in this process.
	quick *semaphore.Weighted
}

// New returns the activities. Register them with a worker.
func New(steps *manifests.Steps, applier *apply.Applier, removals *removal.Removals, o Options) *Activities {
	o.ApplyLimit = cmp.Or(o.ApplyLimit, 80*time.Second)
	o.StuckWorkloadTimeout = cmp.Or(o.StuckWorkloadTimeout, 5*time.Minute)
	o.ReadyWithin = cmp.Or(o.ReadyWithin, time.Second)
	return &Activities{Options: o, steps: steps, applier: applier, removals: removals, quick: semaphore.NewWeighted(quickAtOnce)}
}
