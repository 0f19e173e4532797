package install

import (
	"context"
	"time"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/manifests"
	"github.com/kyma-project/lifecycle-manager/internal/modules/readiness"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// FollowInput names the modules of a Kyma to watch.
type FollowInput struct {
	Modules []Followed `json:"modules"`
	// Gather is how long to wait for news of other modules after the first.
	Gather time.Duration `json:"gather,omitempty"`
}

// Followed is a module to watch, and what was last reported of it.
type Followed struct {
	Ref kick.Ref `json:"ref"`
	// Reported is what was last reported. Its texts may be cut off after maxCompared bytes.
	Reported readiness.Observed `json:"reported"`
	// Since is when the module came into that state; zero means when the activity was scheduled.
	Since time.Time `json:"since,omitzero"`
	// Shown is true once the Kyma's status shows for what the module waits.
	Shown bool `json:"shown,omitempty"`
}

// ModuleNews is what is new of one module, or why it cannot be read.
type ModuleNews struct {
	Ref kick.Ref `json:"ref"`
	WaitResult
	Fault fault.Fault `json:"fault,omitzero"`
}

// FollowModules reads modules until the state of one differs from what was last reported: in state, reason or message, or in that
// the default custom resource is wanted. It waits for news of the others for a moment, unless somebody has to act on the first. It
// returns what is new. An attempt that found nothing new ends with a benign fault.Pending error that has the time of the next read.
// After 5 failed reads of a module in a row, the news of that module is their fault. It writes nothing.
//
// If the wait for a module becomes long, it is news once although nothing changed: the Kyma's status has to show for what its
// module waits.
func (a *Activities) FollowModules(ctx context.Context, in FollowInput) ([]ModuleNews, error) {
	seen := make([]ModuleNews, len(in.Modules))
	last := make([]*v1beta2.Manifest, len(in.Modules))
	found := make([]manifests.Found, len(in.Modules))
	watch := manifests.Watch{Clock: a.steps.Options.Clock, For: "modules", Gather: in.Gather}
	names := make([]string, len(in.Modules))
	for i, each := range in.Modules {
		seen[i].Ref, names[i] = each.Ref, each.Ref.Name
		watch.Since = append(watch.Since, each.Since)
	}
	var round *readiness.Round
	watch.Round = func() { round = readiness.NewRound(names) }
	watch.Read = func(ctx context.Context, i int, w manifests.Wait) (manifests.Found, error) {
		var err error
		seen[i].WaitResult, found[i], err = a.readModule(ctx, in.Modules[i], w, &last[i], round)
		return found[i], err
	}
	failures, err := watch.Until(ctx)
	if err != nil {
		return nil, err
	}
	var news []ModuleNews
	for i, failure := range failures {
		if failure != nil {
			seen[i].Fault = fault.Of(failure)
		}
		if failure != nil || found[i] != manifests.Nothing {
			news = append(news, seen[i])
		}
	}
	return news, nil
}

// readModule reads a module once, in a round, and says whether there is news of it. Last is its Manifest as it was read before.
func (a *Activities) readModule(ctx context.Context, of Followed, w manifests.Wait, last **v1beta2.Manifest, round *readiness.Round) (WaitResult, manifests.Found, error) {
	observed, m, err := a.observeManifest(ctx, of.Ref, *last, round)
	*last = m
	if err != nil {
		return WaitResult{}, manifests.Nothing, err
	}
	if w.IsNews(observed.Compared(), of.Reported.Compared()) {
		found := manifests.Fresh
		if m == nil || observed.DefaultCRWanted || observed.Reason == readiness.ReasonResourcesMissing || observed.State == shared.StateError {
			found = manifests.Pressing
		}
		return WaitResult{Observed: observed}, found, nil
	}
	if m != nil && !of.Shown && w.IsLong() {
		ctx, news := manifests.Noting(ctx)
		manifests.Changed(ctx, m)
		return WaitResult{Observed: of.Reported, News: *news}, manifests.Fresh, nil
	}
	return WaitResult{}, manifests.Nothing, nil
}

// Observe reads the Manifest and the state of its module.
func (a *Activities) Observe(ctx context.Context, ref kick.Ref) (readiness.Observed, error) {
	observed, _, err := a.observeManifest(ctx, ref, nil, nil)
	return observed, err
}

// observing says how the state of a Manifest's module is read.
func (a *Activities) observing(m *v1beta2.Manifest) readiness.Options {
	return readiness.Options{
		Rule: a.steps.Options.Settings.StateRule, RemoteNamespace: a.steps.RemoteNamespace(m),
		Patience: a.Options.StuckWorkloadTimeout, Clock: a.steps.Options.Clock,
	}
}

// observeManifest also returns the Manifest, where it is to be installed still. The last one that was read is enough while the
// informer shows no other.
func (a *Activities) observeManifest(ctx context.Context, ref kick.Ref, last *v1beta2.Manifest, round *readiness.Round) (readiness.Observed, *v1beta2.Manifest, error) {
	m := last
	if m == nil || !a.steps.Options.Known.IsNewest(ctx, m) {
		var err error
		if m, err = a.steps.Read(ctx, ref); err != nil {
			return readiness.Observed{}, nil, err
		}
	}
	if m == nil || !m.DeletionTimestamp.IsZero() {
		return manifests.BeingDeleted(), nil, nil
	}
	cluster, err := a.steps.Reach(ctx, m)
	if err != nil {
		return readiness.Observed{}, nil, err
	}
	options := a.observing(m)
	options.Round = round
	observed, err := readiness.Observe(ctx, cluster, m, options)
	return observed, m, err
}
