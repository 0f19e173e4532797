package install

import (
	"context"

	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/manifests"
	"github.com/kyma-project/lifecycle-manager/activities/readiness"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// WaitManifest looks at the module once and returns what it sees when that differs from what was last
// reported: in state, reason or message, or in that the default custom resource is wanted. Otherwise it is a
// benign fault.Pending error with the time of the next look. After 5 failed reads in a row it returns their
// fault. It writes nothing.
func (a *Activities) WaitManifest(ctx context.Context, in WaitInput) (readiness.Observed, error) {
	w := manifests.WaitOf(ctx, a.steps.Options.Clock())
	look, cancel := context.WithTimeout(ctx, manifests.AttemptLimit)
	defer cancel()
	observed, m, err := a.observeManifest(look, in.Ref)
	if err != nil {
		return readiness.Observed{}, w.Failed(ctx, err)
	}
	if w.IsNews(observed, in.Reported) {
		return observed, nil
	}
	if m != nil && w.IsLong() {
		// What the Manifest says changes with each step, and most steps take a moment, so that its Kyma is told of its
		// state alone. What lasts is worth to be shown there too.
		w.Notified = a.steps.KickKyma(ctx, m) == nil
	}
	return readiness.Observed{}, w.Pending(ctx, "the module")
}

// Observe reads the Manifest and how its module is.
func (a *Activities) Observe(ctx context.Context, ref kick.Ref) (readiness.Observed, error) {
	observed, _, err := a.observeManifest(ctx, ref)
	return observed, err
}

// observeManifest also returns the Manifest, where it is to be installed still.
func (a *Activities) observeManifest(ctx context.Context, ref kick.Ref) (readiness.Observed, *v1beta2.Manifest, error) {
	m, err := a.steps.Read(ctx, ref)
	if err != nil {
		return readiness.Observed{}, nil, err
	}
	if m == nil || !m.DeletionTimestamp.IsZero() {
		return manifests.BeingDeleted(), nil, nil
	}
	cluster, err := a.steps.Reach(ctx, m)
	if err != nil {
		return readiness.Observed{}, nil, err
	}
	observed, err := readiness.Observe(ctx, cluster, m, a.steps.RemoteNamespace(m), a.steps.Options.Clock(), a.Options.StuckWorkloadTimeout)
	return observed, m, err
}
