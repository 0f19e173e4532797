package harness

import (
	"context"
	"strconv"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/activities/fleet"
	"github.com/kyma-project/lifecycle-manager/activities/kick"
	"github.com/kyma-project/lifecycle-manager/activities/sweep"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// Sweep looks at the place as the sweep does, and kicks its Manifest where that finds a reason to. It returns how
// many kicks there were. The Kyma is taken for steady.
func (p *Place) Sweep() int {
	p.Helper()
	activities, err := sweep.New(sweep.Options{
		Interval: time.Minute, Fleet: caches{p}, Live: p.Control, Inputs: steady{}, Remote: steady{},
		Modules: p.Manifests(p, p.Clients(p, &Wire{})).Drift, Kicks: kicks{p}, Open: open{p},
	})
	require.NoError(p, err)
	suite := &testsuite.WorkflowTestSuite{}
	environment := suite.NewTestActivityEnvironment()
	environment.RegisterActivity(activities.WalkShard)
	value, err := environment.ExecuteActivity(activities.WalkShard, sweep.WalkInput{Shard: sweep.ShardOf(p.Kyma.UID, sweep.DefaultShards)})
	require.NoError(p, err)
	var result sweep.WalkResult
	require.NoError(p, value.Get(&result))
	require.Equal(p, 1, result.Kymas)
	return result.Kicked
}

// caches are what the caches hold of the place: everything but what is large.
type caches struct{ *Place }

// Get implements client.Reader.
func (c caches) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	return c.Control.Get(ctx, key, object, options...)
}

// List implements client.Reader: there is one Kyma in the place, in its bucket, and all Manifests are its own.
func (c caches) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	asked := (&client.ListOptions{}).ApplyOptions(options)
	if asked.FieldSelector != nil {
		if bucket, is := asked.FieldSelector.RequiresExactMatch(fleet.IndexBucket); is && bucket != strconv.Itoa(fleet.BucketOf(c.Kyma.UID)) {
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

// steady is a Kyma at which nothing changed.
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

// open are the open workflows: that of the Kyma, it is said, and that of the Manifest where there is one.
type open struct{ *Place }

// OpenWorkflows implements sweep.OpenWorkflows.
func (o open) OpenWorkflows(context.Context, time.Time) (sweep.Open, error) {
	found := sweep.Open{kick.KymaWorkflowID(kick.RefOf(o.Kyma)): time.Now()}
	if !o.isIdle() {
		found[kick.ManifestWorkflowID(kick.RefOf(o.Manifest))] = time.Now()
	}
	return found, nil
}

// IsOpen implements sweep.OpenWorkflows.
func (o open) IsOpen(ctx context.Context, workflowID string) (bool, error) {
	found, err := o.OpenWorkflows(ctx, time.Time{})
	_, is := found[workflowID]
	return is, err
}

// kicks sends those for the Manifest.
type kicks struct{ *Place }

// Kyma implements sweep.Sender.
func (kicks) Kyma(context.Context, kick.Ref, kick.Kick) error { return nil }

// Manifest implements sweep.Sender.
func (k kicks) Manifest(context.Context, kick.Ref, kick.Kick) error {
	k.Kick()
	return nil
}

// SignalOpen implements sweep.Sender.
func (kicks) SignalOpen(context.Context, string, kick.Kick) error { return nil }
