package resolve

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/model/budget"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/model/desired/desiredtest"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

// instance is an instance with several Kymas that have the same modules.
type instance struct {
	*Activities
	cluster *desiredtest.Cluster
	budget  *budget.Budget
	refs    []kick.Ref
	told    []string
}

func (f *instance) Event(object runtime.Object, _, reason, message string) {
	f.told = append(f.told, reason+": "+message)
}

func (f *instance) AnnotatedEventf(object runtime.Object, _ map[string]string, eventType, reason, format string, args ...any) {
	f.Event(object, eventType, reason, fmt.Sprintf(format, args...))
}

func newFleet(t *testing.T, size int, limits Limits, modules []string, objects ...client.Object) *instance {
	t.Helper()
	f := &instance{}
	for i := range size {
		kyma := desiredtest.Kyma(modules...)
		kyma.Name, kyma.UID = fmt.Sprintf("kyma-%02d", i), types.UID(fmt.Sprintf("uid-%02d", i))
		objects = append(objects, kyma)
		f.refs = append(f.refs, kick.RefOf(kyma))
	}
	f.cluster = desiredtest.NewCluster("cp", objects...)
	var err error
	// The limits bound the removals that the catalog causes. Tests of the budget replace it.
	f.budget, err = budget.New(budget.Options{ControlPlane: f.cluster, Cache: f.cluster, Limits: budget.Limits{Min: 100}, Events: f})
	require.NoError(t, err)
	f.Activities, err = New(Options{
		Settings: desired.Settings{Mode: desired.ModeSingleCluster}, ControlPlane: f.cluster, Catalog: f.cluster, Descriptors: registry{},
		Fleet: f.cluster, Limits: limits, Events: f, Budget: f.budget,
	})
	require.NoError(t, err)
	for _, result := range f.reconcileAll(t) {
		require.NotEmpty(t, result.Created)
	}
	return f
}

// reconcileAll reconciles every Kyma and clears the cached counts.
func (f *instance) reconcileAll(t *testing.T) []Result {
	t.Helper()
	f.planner.guard.counts = map[string]count{}
	results := make([]Result, 0, len(f.refs))
	for _, ref := range f.refs {
		result, err := f.ResolveKyma(context.Background(), Input{Ref: ref})
		require.NoError(t, err)
		results = append(results, result)
	}
	return results
}

func deleted(results []Result) int {
	all := 0
	for _, result := range results {
		all += len(result.Deleted)
	}
	return all
}

func (f *instance) change(t *testing.T, object client.Object, change func()) {
	t.Helper()
	require.NoError(t, f.cluster.Get(context.Background(), client.ObjectKeyFromObject(object), object))
	change()
	require.NoError(t, f.cluster.Update(context.Background(), object))
}

// approve writes an approval of a change of the catalog. by is the user that admission records.
func (f *instance) approve(t *testing.T, change, by string) {
	t.Helper()
	found := &v1beta2.RemovalBudget{}
	require.NoError(t, f.cluster.Get(context.Background(), f.budget.Key(), found))
	f.change(t, found, func() {
		now := metav1.Now()
		found.Spec.Approvals = append(found.Spec.Approvals, v1beta2.RemovalApproval{Change: change, By: by, At: &now})
	})
}

func TestRemovingAModuleFromManyKymasWaitsForApproval(t *testing.T) {
	meta := desiredtest.ReleaseMeta("keda", "regular=1.0.0")
	f := newFleet(t, 12, Limits{Percent: 50}, []string{"keda"}, meta, desiredtest.Template("keda", "1.0.0"))
	f.change(t, meta, func() { meta.Spec.Beta = true })
	changed := meta.ResourceVersion
	require.Zero(t, deleted(f.reconcileAll(t)))
	require.Len(t, f.told, 1, "one Event is recorded: %v", f.told)
	require.NoError(t, f.cluster.Get(context.Background(), client.ObjectKeyFromObject(meta), meta))
	require.Equal(t, changed, meta.Annotations[desired.AnnotationGuardedRemoval])
	require.Contains(t, f.told[0], "12 Kymas")
	require.Contains(t, f.told[0], changed)
	require.True(t, AwaitsApproval(meta, desired.Settings{}))

	f.approve(t, "1", "anna")
	require.Zero(t, deleted(f.reconcileAll(t)), "the approval is for another change")
	f.change(t, meta, func() { meta.Annotations[desired.AnnotationApprovedRemoval] = changed })
	require.False(t, AwaitsApproval(meta, desired.Settings{}))
	require.Zero(t, deleted(f.reconcileAll(t)), "annotations approve nothing, because everyone who can change the catalog can write them")
	f.approve(t, changed, "anna")
	require.Positive(t, deleted(f.reconcileAll(t)))
	require.Empty(t, f.read(t).Status.Taken, "an approved removal does not count in the budget")
}

func TestAnApprovalIsForOneChangeOnly(t *testing.T) {
	meta := desiredtest.ReleaseMeta("keda", "regular=1.0.0")
	f := newFleet(t, 12, Limits{Percent: 50, PerMinute: 600}, []string{"keda"}, meta, desiredtest.Template("keda", "1.0.0"))
	f.change(t, meta, func() { meta.Spec.Beta = true })
	f.reconcileAll(t)
	require.NoError(t, f.cluster.Get(context.Background(), client.ObjectKeyFromObject(meta), meta))
	f.approve(t, meta.Annotations[desired.AnnotationGuardedRemoval], "anna")
	require.Equal(t, 12, deleted(f.reconcileAll(t)))
	f.change(t, meta, func() { meta.Spec.Beta = false })
	require.True(t, MarksAreOutdated(meta, desired.Settings{}))
	f.reconcileAll(t)
	f.change(t, meta, func() { meta.Spec.Beta = true })
	require.Zero(t, deleted(f.reconcileAll(t)), "repeating the change makes another change")

	f.change(t, meta, func() {
		delete(meta.Annotations, desired.AnnotationGuardedRemoval)
		delete(meta.Annotations, desired.AnnotationApprovedRemoval)
	})
	require.Zero(t, deleted(f.reconcileAll(t)), "an empty annotation is no approval")
}

func TestTheTemplateIsHeldIfItsOwnLabelsForbidTheModule(t *testing.T) {
	meta, template := desiredtest.ReleaseMeta("keda", "regular=1.0.0"), desiredtest.Template("keda", "1.0.0")
	f := newFleet(t, 12, Limits{}, []string{"keda"}, meta, template)
	f.change(t, template, func() { template.Labels[shared.LabelBeta] = shared.ValueTrue })
	require.Zero(t, deleted(f.reconcileAll(t)))
	require.NoError(t, f.cluster.Get(context.Background(), client.ObjectKeyFromObject(template), template))
	require.True(t, AwaitsApproval(template, desired.Settings{}))
	require.NoError(t, f.cluster.Get(context.Background(), client.ObjectKeyFromObject(meta), meta))
	require.NotContains(t, meta.Annotations, desired.AnnotationGuardedRemoval)
}

// An unreadable selector, or a missing release meta, is no request to uninstall.
func TestUnreadableOrMissingRulesRemoveNothing(t *testing.T) {
	t.Run("a selector with a mistake", func(t *testing.T) {
		meta := desiredtest.ReleaseMeta("keda", "regular=1.0.0")
		f := newFleet(t, 1, Limits{}, []string{"keda"}, meta, desiredtest.Template("keda", "1.0.0"))
		f.change(t, meta, func() {
			meta.Spec.KymaSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "in", Values: []string{"b"}}}}
		})
		results := f.reconcileAll(t)
		require.Zero(t, deleted(results))
		require.Equal(t, 1, results[0].Refused)
	})
	t.Run("the release meta of a module that only a flag restricts is gone", func(t *testing.T) {
		meta := desiredtest.ReleaseMeta("keda", "regular=1.0.0")
		f := newFleet(t, 1, Limits{}, []string{"keda"}, meta, desiredtest.ChannelTemplate("keda", "regular", "1.0.0"), desiredtest.Template("keda", "1.0.0"))
		f.change(t, meta, func() { meta.Spec.KymaSelector = everybody() })
		f.planner.Settings.RestrictedModules = []string{"keda"}
		require.Zero(t, f.reconcileAll(t)[0].Refused)
		require.NoError(t, f.cluster.Delete(context.Background(), meta))
		results := f.reconcileAll(t)
		require.Equal(t, 1, results[0].Refused)
		require.Zero(t, deleted(results))
	})
}

// everybody returns a selector that selects every Kyma. An empty selector does not.
func everybody() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "nowhere", Operator: metav1.LabelSelectorOpDoesNotExist}}}
}

// An empty selector could mean all or none. For installations it is read as none, which is safer. The removals that
// follow from this reading still pass the guard.
func TestAnEmptySelectorSelectsNobody(t *testing.T) {
	meta := desiredtest.ReleaseMeta("keda", "regular=1.0.0")
	f := newFleet(t, 12, Limits{Percent: 50}, []string{"keda"}, meta, desiredtest.Template("keda", "1.0.0"))
	f.change(t, meta, func() { meta.Spec.KymaSelector = everybody() })
	f.planner.Settings.RestrictedModules = []string{"keda"}
	require.Zero(t, f.reconcileAll(t)[0].Refused)
	f.change(t, meta, func() { meta.Spec.KymaSelector = &metav1.LabelSelector{} })
	require.Zero(t, deleted(f.reconcileAll(t)))
	require.Len(t, f.told, 1)
	require.Contains(t, f.told[0], "12 Kymas")
}

func TestASelectorThatTheInstanceDoesNotListRemovesNothing(t *testing.T) {
	meta := desiredtest.ReleaseMeta("keda", "regular=1.0.0")
	f := newFleet(t, 1, Limits{}, []string{"keda"}, meta, desiredtest.Template("keda", "1.0.0"))
	f.change(t, meta, func() { meta.Spec.KymaSelector = everybody() })
	results := f.reconcileAll(t)
	require.Zero(t, deleted(results))
	require.Equal(t, 1, results[0].Refused)
	require.Empty(t, f.told)
}

func TestAChangeThatAffectsFewKymasPasses(t *testing.T) {
	template := desiredtest.ChannelTemplate("keda", "regular", "1.0.0")
	f := newFleet(t, 1, Limits{}, []string{"keda"}, template)
	f.change(t, template, func() { template.Labels[shared.LabelInternal] = shared.ValueTrue })
	require.Equal(t, 1, deleted(f.reconcileAll(t)), "one Kyma may always lose its module, whatever its share of the fleet")
	require.Empty(t, f.told)
}

func TestAHeldChangeStaysHeldWhenFewerKymasAreLeft(t *testing.T) {
	meta := desiredtest.ReleaseMeta("keda", "regular=1.0.0")
	f := newFleet(t, 3, Limits{Kymas: 2, Percent: 100}, []string{"keda"}, meta, desiredtest.Template("keda", "1.0.0"))
	f.change(t, meta, func() { meta.Spec.Internal = true })
	f.reconcileAll(t)
	kyma := &v1beta2.Kyma{}
	require.NoError(t, f.cluster.Get(context.Background(), f.refs[0].Key(), kyma))
	f.change(t, kyma, func() { kyma.Spec.Modules = nil })
	require.Equal(t, 1, deleted(f.reconcileAll(t)), "only the Kyma that no longer lists the module")

	f.change(t, meta, func() { meta.Spec.Internal = false })
	f.change(t, meta, func() { meta.Spec.Beta = true })
	require.Equal(t, 2, deleted(f.reconcileAll(t)), "another change is checked again")
}

func TestDeletingEveryTemplateRemovesNothing(t *testing.T) {
	template, meta := desiredtest.Template("keda", "1.0.0"), desiredtest.ReleaseMeta("keda", "regular=1.0.0")
	channel := desiredtest.ChannelTemplate("btp", "regular", "1.0.0")
	f := newFleet(t, 20, Limits{}, []string{"keda", "btp"}, template, meta, channel)
	for _, object := range []client.Object{template, meta, channel} {
		require.NoError(t, f.cluster.Delete(context.Background(), object))
		require.Zero(t, deleted(f.reconcileAll(t)))
	}
}

func TestAMandatoryModuleOfManyKymasGoesOnlyWithApproval(t *testing.T) {
	meta := mandatoryMeta("warden", "1.0.0")
	meta.Finalizers = []string{shared.FinalizerMandatoryModule}
	f := newFleet(t, 20, Limits{}, nil, meta, desiredtest.Template("warden", "1.0.0"))
	require.NoError(t, f.cluster.Delete(context.Background(), meta))
	require.Zero(t, deleted(f.reconcileAll(t)))
	require.NoError(t, f.cluster.Get(context.Background(), client.ObjectKeyFromObject(meta), meta))
	f.approve(t, meta.Annotations[desired.AnnotationGuardedRemoval], "anna")
	require.Positive(t, deleted(f.reconcileAll(t)))
}

func TestRemovalsCausedByTheCatalogAreRateLimited(t *testing.T) {
	meta := desiredtest.ReleaseMeta("keda", "regular=1.0.0")
	f := newFleet(t, 4, Limits{Kymas: 10, Percent: 100, PerMinute: 6}, []string{"keda"}, meta, desiredtest.Template("keda", "1.0.0"))
	f.change(t, meta, func() { meta.Spec.Beta = true })
	results := f.reconcileAll(t)
	require.Equal(t, 1, deleted(results))
	require.Zero(t, results[0].NextReconcile)
	for _, waiting := range results[1:] {
		require.True(t, waiting.Paced)
		require.WithinRange(t, waiting.NextReconcile, time.Now().Add(5*time.Second), time.Now().Add(51*time.Second),
			"the others are spread over the time that four removals take")
	}
	require.NotEqual(t, results[1].NextReconcile.Truncate(time.Second), results[2].NextReconcile.Truncate(time.Second))
}
