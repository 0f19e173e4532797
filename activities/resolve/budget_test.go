package resolve

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/budget"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// bounded returns an instance of six Kymas with one module each. Two of the Kymas may lose modules within an hour.
func bounded(t *testing.T) (*instance, *time.Time) {
	t.Helper()
	f := newFleet(t, 6, Limits{Percent: 100}, []string{"keda"}, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"))
	now := time.Now()
	var err error
	f.budget, err = budget.New(budget.Options{ControlPlane: f.cluster, Cache: f.cluster, Limits: budget.Limits{Min: 2}, Events: f, Now: func() time.Time { return now }})
	require.NoError(t, err)
	f.Budget = f.budget
	return f, &now
}

func (f *instance) read(t *testing.T) *v1beta2.RemovalBudget {
	t.Helper()
	found := &v1beta2.RemovalBudget{}
	require.NoError(t, f.cluster.Get(context.Background(), f.budget.Key(), found))
	return found
}

func (f *instance) edit(t *testing.T, i int, change func(*v1beta2.Kyma)) {
	t.Helper()
	kyma := &v1beta2.Kyma{}
	require.NoError(t, f.cluster.Get(context.Background(), f.refs[i].Key(), kyma))
	f.change(t, kyma, func() { change(kyma) })
}

// A script that empties the module lists of a whole fleet removes no more than the budget allows.
func TestTheBudgetHoldsModuleListsEmptiedInBulk(t *testing.T) {
	f, now := bounded(t)
	for i := range f.refs {
		f.edit(t, i, func(kyma *v1beta2.Kyma) { kyma.Spec.Modules = nil })
	}
	results := f.reconcileAll(t)
	require.Equal(t, 2, deleted(results))
	for _, held := range results[2:] {
		require.Equal(t, budget.ReasonHeld, held.Fault.Reason)
		require.Equal(t, fault.Pending, held.Fault.Kind, "the Kyma is not in Error")
		require.True(t, held.Fault.SlowRetry)
		require.NotEmpty(t, held.InputsDigest, "everything else that the Kyma asks for is done")
	}
	require.Len(t, f.told, 1)
	require.Zero(t, deleted(f.reconcileAll(t)))

	f.edit(t, 5, func(kyma *v1beta2.Kyma) { kyma.Spec.Modules = []v1beta2.Module{{Name: "keda"}} })
	results = f.reconcileAll(t)
	require.Zero(t, deleted(results), "listing a module again frees no budget")
	require.True(t, results[5].Fault.IsZero(), "and its Kyma no longer waits")
	require.Len(t, f.read(t).Status.Taken, 2)

	*now = now.Add(time.Hour)
	require.Equal(t, 2, deleted(f.reconcileAll(t)), "the budget's window has passed")
}

func TestKymasDeletedInBulkKeepTheirModulesUntilTheBudgetHasRoom(t *testing.T) {
	f, now := bounded(t)
	settings := &f.Settings.Purge
	settings.Enabled, settings.Grace = true, 0
	for i := range f.refs {
		f.edit(t, i, func(kyma *v1beta2.Kyma) { kyma.Finalizers = []string{shared.FinalizerKyma} })
		require.NoError(t, f.cluster.Delete(context.Background(), &v1beta2.Kyma{ObjectMeta: metav1.ObjectMeta{Namespace: f.refs[i].Namespace, Name: f.refs[i].Name}}))
	}
	remove := func() (held int) {
		for _, ref := range f.refs {
			result, err := f.DeleteManifests(context.Background(), Input{Ref: ref})
			require.NoError(t, err)
			if result.Fault.Reason == budget.ReasonHeld {
				held++
				require.Len(t, result.Remaining, 1)
				require.Len(t, result.Manifests, 1, "a requested purge begins with the modules, which are held")
				require.False(t, result.PurgeDue, "no deadline runs before the first attempt")
				require.True(t, result.PurgeAt.IsZero())
			}
		}
		return held
	}
	alive := func() (left int) {
		var list v1beta2.ManifestList
		require.NoError(t, f.cluster.List(context.Background(), &list))
		for i := range list.Items {
			if list.Items[i].DeletionTimestamp.IsZero() {
				left++
			}
		}
		return left
	}
	require.Equal(t, 4, remove())
	require.Equal(t, 4, alive())
	require.Equal(t, 4, remove(), "a removal that has begun continues and is not counted again")
	require.Equal(t, 4, alive())

	found := f.read(t)
	f.change(t, found, func() {
		found.Spec.Approvals = []v1beta2.RemovalApproval{{Clusters: 3, By: "anna", At: &metav1.Time{Time: *now}}}
	})
	require.Equal(t, 1, remove())
	require.Equal(t, 1, alive())
}

func TestChangesThatRemoveNothingAreNotCounted(t *testing.T) {
	f, _ := bounded(t)
	unmanaged := false
	for i := range f.refs {
		f.edit(t, i, func(kyma *v1beta2.Kyma) { kyma.Spec.Modules[0].Managed = &unmanaged })
	}
	f.reconcileAll(t)
	for i := range f.refs {
		f.edit(t, i, func(kyma *v1beta2.Kyma) { kyma.Spec.Modules = nil })
	}
	for _, result := range f.reconcileAll(t) {
		require.True(t, result.Fault.IsZero())
	}
	err := f.cluster.Get(context.Background(), f.budget.Key(), &v1beta2.RemovalBudget{})
	require.NoError(t, client.IgnoreNotFound(err))
	require.Error(t, err, "no RemovalBudget was needed")
}
