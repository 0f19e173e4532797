package inprocess

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/sweep"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/test/harness/faultproxy"
)

// Sweep runs one pass of the sweep over the installation, and kicks its Manifest where that finds a reason. It returns the
// number of kicks. The Kyma counts as unchanged, and the last change of the Manifest as longer ago than an interval: until then
// the sweep leaves what is not settled to those who work on it.
func (p *Installation) Sweep() int {
	p.Helper()
	const interval = time.Minute
	of := p.Manifests(p, p.Clients(p, &faultproxy.Proxy{}))
	activities, err := sweep.New(sweep.Options{
		Interval: interval, Now: func() time.Time { return time.Now().Add(2 * interval) }, Fleet: caches{p}, Live: p.Control, Inputs: steady{}, Remote: steady{},
		Modules: of.Drift, Marks: of.Steps, Kicks: kicks{p}, Open: open{p},
	})
	require.NoError(p, err)
	return WalkShard(p, activities, p.Kyma.UID)
}

// WalkShard runs one pass of the sweep over the shard of a Kyma, which must be the only one there, and returns the number
// of kicks.
func WalkShard(t testing.TB, activities *sweep.Activities, kyma types.UID) int {
	t.Helper()
	suite := &testsuite.WorkflowTestSuite{}
	environment := suite.NewTestActivityEnvironment()
	environment.RegisterActivity(activities.WalkShard)
	value, err := environment.ExecuteActivity(activities.WalkShard, sweep.WalkInput{Shard: sweep.ShardOf(kyma, sweep.DefaultShards)})
	require.NoError(t, err)
	var result sweep.WalkResult
	require.NoError(t, value.Get(&result))
	require.Equal(t, 1, result.Kymas)
	return result.Kicked
}

// caches have what the caches of the product have: everything but large fields.
type caches struct{ *Installation }

// Get implements client.Reader.
func (c caches) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	return c.Control.Get(ctx, key, object, options...)
}

// List implements client.Reader: there is one Kyma, in its bucket, and all Manifests are its own.
func (c caches) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	asked := (&client.ListOptions{}).ApplyOptions(options)
	if asked.FieldSelector != nil {
		if bucket, ok := asked.FieldSelector.RequiresExactMatch(fleet.IndexBucket); ok && bucket != strconv.Itoa(fleet.BucketOf(c.Kyma.UID)) {
			return nil
		}
	}
	if err := c.Control.List(ctx, list, client.InNamespace(c.ID)); err != nil {
		return err
	}
	if manifests, ok := list.(*v1beta2.ManifestList); ok {
		for i := range manifests.Items {
			m := &manifests.Items[i]
			m.ManagedFields, m.Status.Inventory, m.Status.Synced, m.Spec.Resource = nil, nil, nil, nil
		}
	}
	return nil
}

// steady is a Kyma in which nothing changed.
type steady struct{}

// Digest implements sweep.Inputs.
func (steady) Digest(_ context.Context, kyma *v1beta2.Kyma) (string, error) {
	return kyma.Status.InputsDigest, nil
}

func (steady) Delisted(context.Context, *v1beta2.Kyma, []v1beta2.Manifest) (string, error) {
	return "", nil
}

// Probe implements sweep.RemoteProbe.
func (steady) Probe(context.Context, *v1beta2.Kyma, bool) (changed bool, why string, err error) {
	return false, "", nil
}

// open is the workflow of the Kyma, which counts as open always.
type open struct{ *Installation }

// OpenWorkflows implements sweep.OpenWorkflows.
func (o open) OpenWorkflows(context.Context, time.Time) (sweep.Open, error) {
	return sweep.Open{kick.KymaWorkflowID(kick.RefOf(o.Kyma)): time.Now()}, nil
}

// IsOpen implements sweep.OpenWorkflows.
func (o open) IsOpen(ctx context.Context, workflowID string) (bool, error) {
	found, err := o.OpenWorkflows(ctx, time.Time{})
	_, ok := found[workflowID]
	return ok, err
}

// IsPaused implements sweep.OpenWorkflows.
func (o open) IsPaused(string) bool { return false }

// kicks sends those for the Manifest.
type kicks struct{ *Installation }

// Kyma implements sweep.Sender.
func (kicks) Kyma(context.Context, kick.Ref, kick.Kick) error { return nil }

// Manifest implements sweep.Sender.
func (k kicks) Manifest(context.Context, kick.Ref, kick.Ref, kick.Kick) error {
	k.Kick()
	return nil
}

// SignalOpen implements sweep.Sender.
func (kicks) SignalOpen(context.Context, string, kick.Kick) error { return nil }
