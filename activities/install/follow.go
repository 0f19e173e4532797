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
	// Gather is how long to wait for news of other modules after the first news.
	Gather time.Duration `json:"gather,omitempty"`
}

// Followed is a module to watch and its last reported state.
type Followed struct {
	Ref kick.Ref `json:"ref"`
	// Reported is the last reported state. Its texts may be cut off after maxCompared bytes.
	Reported readiness.Observed `json:"reported"`
	// Since is when the module entered that state. Zero means when the activity was scheduled.
	Since time.Time `json:"since,omitzero"`
	// Shown is true if the Kyma's status already shows what the module waits for.
	Shown bool `json:"shown,omitempty"`
}

// ModuleNews is the news of one module, or the fault that prevented reading it.
type ModuleNews struct {
	Ref kick.Ref `json:"ref"`
	WaitResult
	Fault fault.Fault `json:"fault,omitzero"`
}

// FollowModules reads modules until the state, the reason or the message of one differs from its last report, or until
// its default custom resource is wanted. Unless the first news requires action, FollowModules briefly waits for news of
// the other modules. It returns all news.
//
// An attempt without news ends with a benign fault.Pending error, which carries the time of the next read. After 5 failed
// reads of a module in a row, the fault is that module's news. FollowModules writes nothing.
//
// If the wait for a module becomes long, FollowModules returns it once as news although nothing changed, because the
// Kyma's status has to show what the module waits for.
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

// readModule reads a module once per round and reports whether it has news. last points to the Manifest from the previous
// read.
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

// observing returns the options for reading the state of a Manifest's module.
func (a *Activities) observing(m *v1beta2.Manifest) readiness.Options {
	return readiness.Options{
		Rule: a.steps.Options.Settings.StateRule, RemoteNamespace: a.steps.RemoteNamespace(m),
		Patience: a.Options.StuckWorkloadTimeout, Clock: a.steps.Options.Clock,
	}
}

// observeManifest also returns the Manifest, or nil if it is gone or being deleted. It uses the last Manifest read while
// the informer shows no newer one.
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
