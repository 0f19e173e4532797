package install

import (
	"context"

	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/manifests"
	"github.com/kyma-project/lifecycle-manager/activities/readiness"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// WaitManifest reads the module until its state differs from what was last reported: in state, reason or message, or in that the
// default custom resource is wanted. An attempt that found nothing new ends with a benign fault.Pending error that has the
// time of the next read. After 5 failed reads in a row it returns their fault. It writes nothing.
//
// If the wait becomes long, WaitManifest returns once with news although nothing changed: the Kyma's status has to show for
// what its module waits.
func (a *Activities) WaitManifest(ctx context.Context, in WaitInput) (WaitResult, error) {
	var last *v1beta2.Manifest
	return manifests.Until(ctx, a.steps.Options.Clock, "the module", func(ctx context.Context, w manifests.Wait) (WaitResult, bool, error) {
		observed, m, err := a.observeManifest(ctx, in.Ref, last)
		last = m
		if err != nil {
			return WaitResult{}, false, err
		}
		if w.IsNews(observed, in.Reported) {
			return WaitResult{Observed: observed}, true, nil
		}
		if m != nil && !in.Shown && w.IsLong() {
			ctx, news := manifests.Noting(ctx)
			manifests.Changed(ctx, m)
			return WaitResult{Observed: in.Reported, News: *news}, true, nil
		}
		return WaitResult{}, false, nil
	})
}

// Observe reads the Manifest and the state of its module.
func (a *Activities) Observe(ctx context.Context, ref kick.Ref) (readiness.Observed, error) {
	observed, _, err := a.observeManifest(ctx, ref, nil)
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
func (a *Activities) observeManifest(ctx context.Context, ref kick.Ref, last *v1beta2.Manifest) (readiness.Observed, *v1beta2.Manifest, error) {
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
	observed, err := readiness.Observe(ctx, cluster, m, a.observing(m))
	return observed, m, err
}
